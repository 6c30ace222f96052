/**
 * Hands events to the owner of the session and acks those it has recorded. While the owner is busy, events
 * gather and it gets them in one call: a slow recorder sees larger batches, never a longer queue of calls.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  InboundMedia,
  InboundMessage,
  NetworkChange,
  NetworkReceipt,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import type { HistoryBatch, NetworkFact } from '@posthorn/core/network/facts.ts';
import type { HistoryBody } from '../fact-frames.ts';
import type { MediaInfo } from '../families/media.ts';
import type { NetworkEvent } from '../frames.ts';
import type { SandboxLog } from '../log.ts';
import type { ReadEvent, UnreadableEvent } from './read-frame.ts';

export interface EventPump {
  push(events: readonly ReadEvent[]): void;
  /** Hands over nothing more; resolves when the call in progress is settled. */
  stop(): Promise<void>;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;

export function createEventPump(deps: {
  sink: SessionSink;
  ack: (seq: number) => void;
  log: SandboxLog;
}): EventPump {
  let gathered: ReadEvent[] = [];
  let running: Promise<void> | undefined;
  const stopped = new AbortController();

  async function run() {
    while (gathered.length > 0 && !stopped.signal.aborted) {
      const batch = gathered;
      gathered = [];
      if (!(await record(batch))) break;
      deps.ack(batch.at(-1)!.s);
    }
    // In the same turn as the last check of `gathered`: later events start a new run.
    running = undefined;
  }

  function refuse(batch: readonly ReadEvent[]) {
    for (const event of batch) {
      if (event.k === 'refused') {
        deps.log.warn({ seq: event.s, why: event.why }, 'acknowledged an unreadable network event');
      }
    }
  }

  /** Retries until the owner has recorded the batch; false if stopped before that. */
  async function record(batch: readonly ReadEvent[]): Promise<boolean> {
    refuse(batch);
    let jobs = jobsOf(deps.sink, batch);
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const results = await Promise.allSettled(jobs.map((job) => job()));
      const failure = results.find((result) => result.status === 'rejected');
      if (!failure) return true;
      deps.log.warn(
        { err: failure.reason, events: batch.length },
        'recording network events failed; retrying',
      );
      jobs = jobs.filter((_, i) => results[i]!.status === 'rejected');
      const waited = await delay(retryMs, true, { signal: stopped.signal }).catch(() => false);
      if (!waited) return false;
    }
  }

  return {
    push(events) {
      for (const event of events) gathered.push(event);
      if (gathered.length > 0) running ??= run();
    },
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

type Item = InboundMessage | NetworkChange | NetworkFact | HistoryBatch;

/** Consecutive items of one sort, and their destination. */
interface Run {
  sort: 'message' | 'change' | 'fact' | 'history';
  items: Item[];
}

/** Receipts are handed over separately; all other items in order of arrival. */
function jobsOf(sink: SessionSink, batch: readonly ReadEvent[]): (() => Promise<void>)[] {
  const receipts: NetworkReceipt[] = [];
  const runs: Run[] = [];
  const add = (sort: Run['sort'], item: Item) => {
    const last = runs.at(-1);
    // Each part of the history is handed over alone, because it is large.
    if (last?.sort === sort && sort !== 'history') last.items.push(item);
    else runs.push({ sort, items: [item] });
  };
  for (const event of batch) {
    if (event.k === 'refused') continue;
    if ('by' in event) receipts.push(receiptOf(event));
    else if (event.k === 'message') add('message', messageOf(event));
    else if (event.k === 'fact') add('fact', { ...event.fact, at: new Date(event.at) });
    else if (event.k === 'history') add('history', historyOf(event.batch));
    else add('change', changeOf(event));
  }
  const jobs: (() => Promise<void>)[] = [];
  if (receipts.length > 0) jobs.push(async () => sink.receipts(receipts));
  if (runs.length > 0) {
    jobs.push(async () => {
      // Items recorded before a failure are not handed over again.
      for (let run = runs[0]; run; runs.shift(), run = runs[0]) await handOver(sink, run);
    });
  }
  return jobs;
}

async function handOver(sink: SessionSink, { sort, items }: Run): Promise<void> {
  if (sort === 'message') return sink.inbound(items as InboundMessage[]);
  if (sort === 'change') return sink.changes(items as NetworkChange[]);
  if (sort === 'fact') return sink.facts(items as NetworkFact[]);
  return sink.history(items[0] as HistoryBatch);
}

function historyOf({ messages, ...batch }: HistoryBody): HistoryBatch {
  return {
    ...batch,
    messages: messages.map(({ id, name, from_me: fromMe, quoted, status, at, ...message }) => ({
      ...message,
      networkId: id,
      pushName: name,
      fromMe,
      ...(quoted === undefined ? {} : { quotedId: quoted }),
      ...(status === undefined ? {} : { status }),
      at: new Date(at),
    })),
  };
}

function receiptOf(event: Extract<NetworkEvent, { by: string }>): NetworkReceipt {
  return { networkId: event.id, kind: event.k, chat: event.chat, by: event.by, at: new Date(event.at) };
}

function messageOf(event: Extract<NetworkEvent, { name: string }> | UnreadableEvent): InboundMessage {
  const { id, chat, from, name, from_me: fromMe, type, content: all, quoted, fwd, status } = event;
  const { media, ...content } = all as { media?: unknown };
  return {
    networkId: id,
    chat,
    from,
    pushName: name,
    ...(fromMe ? { fromMe } : {}),
    type,
    content,
    quotedId: quoted,
    ...(typeof media === 'object' && media ? { media: mediaOf(media as MediaInfo) } : {}),
    ...(fwd === undefined ? {} : { forwardingScore: fwd }),
    ...(status === undefined ? {} : { statusId: status }),
    ...('unreadable' in event ? { unreadable: true } : {}),
    at: new Date(event.at),
  };
}

function mediaOf({ handle, mime_type, file_name, size_bytes, animated }: MediaInfo): InboundMedia {
  return {
    ref: handle,
    mimeType: mime_type,
    fileName: file_name,
    sizeBytes: size_bytes,
    ...(animated === undefined ? {} : { animated }),
  };
}

function changeOf(
  event: Extract<NetworkEvent, { env: string }> | Extract<NetworkEvent, { starred: boolean }>,
): NetworkChange {
  const { id: networkId, chat, from } = event;
  const fromMe = 'from_me' in event ? { fromMe: event.from_me === true } : {};
  const base = { networkId, chat, from, ...fromMe, at: new Date(event.at) };
  if (event.k === 'starred') return { ...base, kind: 'starred', starred: event.starred };
  const named = { ...base, changeId: event.env };
  if (event.k === 'edited') return { ...named, kind: 'edited', content: event.content ?? {} };
  return { ...named, kind: 'deleted' };
}
