/** Hands over what the network posted: from the inbox to the sink, oldest first, and nothing twice without need. */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { NetworkInbox, PostedBody, SessionSink } from '@posthorn/core/network/driver.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Own, type Reading, readWebhook, type Told } from './read-webhook.ts';

/** Bodies in one round. */
const ROUND = 32;
/** Whoever posts also tells us; this is for what was told to nobody. */
const LOOK_MS = 30_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

export interface HandOverDeps {
  inbox: NetworkInbox;
  sink: SessionSink;
  log: Pick<Log, 'warn'>;
  instanceId: string;
  own(): Own;
  /** What concerns the session itself: who wrote last, what the account may not. */
  onTold(told: Told): void;
}

export interface HandOver {
  /** Resolves when what is under way is handed over. */
  stop(): Promise<void>;
}

export function startHandOver(deps: HandOverDeps): HandOver {
  const stopped = new AbortController();
  let wake = Promise.withResolvers<void>();
  const stopLooking = deps.inbox.onArrival(() => wake.resolve());

  async function run(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; !stopped.signal.aborted; ) {
      wake = Promise.withResolvers();
      try {
        const bodies = await deps.inbox.next(ROUND);
        if (bodies.length > 0) await handOver(deps, bodies, stopped.signal);
        retryMs = FIRST_RETRY_MS;
        // A round is bounded by bytes as well: only an empty one says that nothing is left.
        if (bodies.length === 0) await pause(LOOK_MS);
      } catch (err) {
        if (stopped.signal.aborted) return;
        deps.log.warn({ err, instance_id: deps.instanceId }, 'handing over webhooks failed, trying again');
        await pause(retryMs);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
  }

  async function pause(ms: number): Promise<void> {
    const over = delay(ms, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    await Promise.race([wake.promise, over]);
  }

  const running = run();
  return {
    async stop() {
      stopped.abort();
      wake.resolve();
      stopLooking();
      await running;
    },
  };
}

async function handOver(
  deps: HandOverDeps,
  bodies: readonly PostedBody[],
  signal: AbortSignal,
): Promise<void> {
  const { sink, inbox, log, instanceId } = deps;
  const readings: Reading[] = [];
  for (const { body } of bodies) {
    readings.push(readCarefully(deps, body));
    // Others have their turn between large ones.
    await nextTurn();
  }
  const passedOver = readings.reduce((sum, reading) => sum + reading.passedOver, 0);
  if (passedOver > 0)
    log.warn({ passed_over: passedOver, instance_id: instanceId }, 'passed over parts of webhooks');
  const told = readings.flatMap((reading) => reading.told);
  for (const each of told) deps.onTold(each);
  let jobs = jobsOf(sink, told);
  for (let retryMs = FIRST_RETRY_MS; jobs.length > 0; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
    const results = await Promise.allSettled(jobs.map((job) => job()));
    jobs = jobs.filter((_, nth) => results[nth]!.status === 'rejected');
    if (jobs.length === 0) break;
    const failure = results.find((result) => result.status === 'rejected');
    log.warn({ err: failure?.reason, instance_id: instanceId }, 'recording webhooks failed, trying again');
    // Who stops leaves the bodies in the inbox, for the next session.
    await delay(retryMs, undefined, { signal });
  }
  await inbox.done(bodies.map(({ id }) => id));
}

/** Whatever one body does, what follows goes on. */
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
