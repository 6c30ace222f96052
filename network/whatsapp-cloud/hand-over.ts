/**
 * Hands over the posts of the network: from the inbox to the sink, oldest first, and nothing twice without need. A
 * message whose media must be downloaded waits apart, with the messages that follow it in its chat: no other chat waits
 * for a download.
 */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { NetworkInbox, PostedBody, SessionSink } from '@posthorn/core/network/driver.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Own, type Reading, readWebhook, type Told } from './read-webhook.ts';

/** Bodies in one round. */
const ROUND = 32;
/** Bodies that wait for downloads at a time. */
const WAITING_MAX = 128;
/** The API announces each post; this look finds posts whose announcement was lost. */
const LOOK_MS = 30_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

export interface HandOverDeps {
  inbox: NetworkInbox;
  sink: SessionSink;
  log: Pick<Log, 'warn'>;
  instanceId: string;
  own(): Own;
  /** Shows each item to the session, which notes the last message of a chat and the account's restrictions. */
  onTold(told: Told): void;
}

export interface HandOver {
  /** Resolves when what is under way is handed over. */
  stop(): Promise<void>;
}

/** The items of one chat in one round, and the bodies that they came in. */
interface Part {
  told: Told[];
  ids: Set<string>;
}

export function startHandOver(deps: HandOverDeps): HandOver {
  const { inbox, log, instanceId } = deps;
  const stopped = new AbortController();
  const { signal } = stopped;
  let wake = Promise.withResolvers<void>();
  const stopLooking = inbox.onArrival(() => wake.resolve());
  const lines = createLines(deps, { signal, onEnd: () => wake.resolve() });

  async function run(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; !signal.aborted; ) {
      wake = Promise.withResolvers();
      try {
        const waiting = lines.waiting();
        const bodies = waiting.length < WAITING_MAX ? await inbox.next(ROUND, waiting) : [];
        if (bodies.length > 0) await handOver(bodies);
        retryMs = FIRST_RETRY_MS;
        // A round is bounded by bytes as well: only an empty one says that nothing is left.
        if (bodies.length === 0) await pause(LOOK_MS);
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err, instance_id: instanceId }, 'handing over webhooks failed, trying again');
        await pause(retryMs);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
  }

  async function pause(ms: number): Promise<void> {
    const over = delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
    await Promise.race([wake.promise, over]);
  }

  async function handOver(bodies: readonly PostedBody[]): Promise<void> {
    const readings = await readAll(deps, bodies);
    const now: Told[] = [];
    const later = new Map<string, Part>();
    for (const [nth, { told }] of readings.entries()) {
      for (const each of told) {
        deps.onTold(each);
        const chat = chatOf(each);
        if (chat === null || !(later.has(chat) || lines.has(chat) || isSlow(each))) {
          now.push(each);
          continue;
        }
        const part = later.get(chat) ?? { told: [], ids: new Set() };
        later.set(chat, part);
        part.told.push(each);
        part.ids.add(bodies[nth]!.id);
      }
    }
    await untilDone(deps, jobsOf(deps.sink, now), signal);
    for (const [chat, part] of later) lines.add(chat, part);
    const waiting = lines.waiting();
    await inbox.done(bodies.map(({ id }) => id).filter((id) => !waiting.includes(id)));
  }

  const running = run();
  return {
    async stop() {
      stopped.abort();
      wake.resolve();
      stopLooking();
      await running;
      await lines.ended();
    },
  };
}

/** The lines of chats in which a message waits for its media. */
interface Lines {
  has(chat: string): boolean;
  /** Behind what is in the chat's line. */
  add(chat: string, part: Part): void;
  /** Bodies of which a part is in a line. */
  waiting(): string[];
  /** Resolves when all lines have ended. */
  ended(): Promise<void>;
}

function createLines(
  deps: HandOverDeps,
  { signal, onEnd }: { signal: AbortSignal; onEnd: () => void },
): Lines {
  const lines = new Map<string, Promise<void>>();
  /** In how many lines a body has a part. */
  const partsOf = new Map<string, number>();

  async function record({ told, ids }: Part): Promise<void> {
    await untilDone(deps, jobsOf(deps.sink, told), signal);
    for (const id of ids) partsOf.set(id, partsOf.get(id)! - 1);
    const whole = [...ids].filter((id) => partsOf.get(id) === 0);
    if (whole.length > 0) await untilDone(deps, [() => deps.inbox.done(whole)], signal);
    for (const id of whole) partsOf.delete(id);
  }

  return {
    has: (chat) => lines.has(chat),
    add(chat, part) {
      for (const id of part.ids) partsOf.set(id, (partsOf.get(id) ?? 0) + 1);
      const line = (lines.get(chat) ?? Promise.resolve()).then(() => record(part));
      lines.set(chat, line);
      line
        // A stop leaves the bodies in the inbox, for the next session.
        .catch(() => undefined)
        .finally(() => {
          if (lines.get(chat) === line) lines.delete(chat);
          onEnd();
        });
    },
    waiting: () => [...partsOf.keys()],
    async ended() {
      await Promise.allSettled(lines.values());
    },
  };
}

/** The chat whose order the item keeps; null where order does not matter. */
function chatOf(told: Told): string | null {
  if (told.kind === 'message') return told.message.chat;
  if (told.kind === 'change') return told.change.chat;
  return told.kind === 'fact' && told.fact.kind === 'user_id' ? told.fact.from : null;
}

function isSlow(told: Told): boolean {
  return told.kind === 'message' && told.message.media !== undefined;
}

/** Does all jobs, again and again those that fail. Rejects only when it is stopped. */
async function untilDone(
  { log, instanceId }: HandOverDeps,
  all: readonly (() => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  let jobs = all;
  for (let retryMs = FIRST_RETRY_MS; jobs.length > 0; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
    const results = await Promise.allSettled(jobs.map((job) => job()));
    jobs = jobs.filter((_, nth) => results[nth]!.status === 'rejected');
    if (jobs.length === 0) return;
    const failure = results.find((result) => result.status === 'rejected');
    log.warn({ err: failure?.reason, instance_id: instanceId }, 'recording webhooks failed, trying again');
    await delay(retryMs, undefined, { signal });
  }
}

async function readAll(deps: HandOverDeps, bodies: readonly PostedBody[]): Promise<Reading[]> {
  const readings: Reading[] = [];
  for (const { body } of bodies) {
    readings.push(readCarefully(deps, body));
    // Others have their turn between large ones.
    await nextTurn();
  }
  const passedOver = readings.reduce((sum, reading) => sum + reading.passedOver, 0);
  if (passedOver > 0)
    deps.log.warn(
      { passed_over: passedOver, instance_id: deps.instanceId },
      'skipped unreadable parts of webhooks',
    );
  return readings;
}

/** A body that cannot be read must not hold back those behind it. */
function readCarefully({ own, log, instanceId }: HandOverDeps, body: Uint8Array): Reading {
  try {
    return readWebhook(body, own());
  } catch (err) {
    log.warn({ err, instance_id: instanceId }, 'a webhook could not be read');
    return { told: [], passedOver: 1 };
  }
}

/** Receipts are in no order with the rest; the rest is handed over as it came, in runs of one sort. */
function jobsOf(sink: SessionSink, told: readonly Told[]): (() => Promise<void>)[] {
  const receipts = told.flatMap((each) => (each.kind === 'receipt' ? [each.receipt] : []));
  const runs = runsOf(told);
  const jobs: (() => Promise<void>)[] = [];
  if (receipts.length > 0) jobs.push(() => sink.receipts(receipts));
  if (runs.length > 0) {
    jobs.push(async () => {
      // Runs recorded before a failure are not handed over again.
      for (let run = runs[0]; run; runs.shift(), run = runs[0]) await handOverRun(sink, run);
    });
  }
  return jobs;
}

function runsOf(told: readonly Told[]): Told[][] {
  const runs: Told[][] = [];
  for (const each of told) {
    if (each.kind !== 'message' && each.kind !== 'change' && each.kind !== 'fact') continue;
    const last = runs.at(-1);
    if (last?.[0]?.kind === each.kind) last.push(each);
    else runs.push([each]);
  }
  return runs;
}

async function handOverRun(sink: SessionSink, run: readonly Told[]): Promise<void> {
  const [first] = run;
  if (first?.kind === 'message')
    await sink.inbound(run.flatMap((each) => (each.kind === 'message' ? [each.message] : [])));
  if (first?.kind === 'change')
    await sink.changes(run.flatMap((each) => (each.kind === 'change' ? [each.change] : [])));
  if (first?.kind === 'fact')
    await sink.facts(run.flatMap((each) => (each.kind === 'fact' ? [each.fact] : [])));
}
