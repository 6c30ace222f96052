/**
 * Hands events to the owner of the session and acks what it has recorded. While the owner is busy,
 * events gather, and it gets them in one call: a slow recorder sees larger batches, never a longer line
 * of calls.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { InboundMessage, NetworkReceipt, SessionSink } from '../../driver.ts';
import type { NetworkEvent } from '../frames.ts';
import type { SandboxLog } from '../log.ts';

export interface EventPump {
  push(events: readonly NetworkEvent[]): void;
  /** Hands over nothing more; resolves when what was under way is settled. */
  stop(): Promise<void>;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;

export function createEventPump(deps: {
  sink: SessionSink;
  ack: (seq: number) => void;
  log: SandboxLog;
}): EventPump {
  let gathered: NetworkEvent[] = [];
  let running: Promise<void> | undefined;
  const stopped = new AbortController();

  async function run() {
    while (gathered.length > 0 && !stopped.signal.aborted) {
      const batch = gathered;
      gathered = [];
      if (!(await record(batch))) return;
      deps.ack(batch.at(-1)!.s);
    }
  }

  /** Repeats what the owner could not record until it can; false when stopped before that. */
  async function record(batch: readonly NetworkEvent[]): Promise<boolean> {
    const { receipts, messages } = sortOut(batch);
    let jobs = [
      ...(receipts.length > 0 ? [async () => deps.sink.receipts(receipts)] : []),
      ...(messages.length > 0 ? [async () => deps.sink.inbound(messages)] : []),
    ];
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const results = await Promise.allSettled(jobs.map((job) => job()));
      const failure = results.find((result) => result.status === 'rejected');
      if (!failure) return true;
      deps.log.warn(
        { err: failure.reason, events: batch.length },
        'network events were not recorded; repeating',
      );
      jobs = jobs.filter((_, i) => results[i]!.status === 'rejected');
      const waited = await delay(retryMs, true, { signal: stopped.signal }).catch(() => false);
      if (!waited) return false;
    }
  }

  return {
    push(events) {
      for (const event of events) gathered.push(event);
      running ??= run().finally(() => {
        running = undefined;
      });
    },
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

function sortOut(batch: readonly NetworkEvent[]): { receipts: NetworkReceipt[]; messages: InboundMessage[] } {
  const receipts: NetworkReceipt[] = [];
  const messages: InboundMessage[] = [];
  for (const event of batch) {
    const at = new Date(event.at);
    if (event.k === 'message') {
      const { id, chat, from, name, type, content, quoted } = event;
      messages.push({ networkId: id, chat, from, pushName: name, type, content, quotedId: quoted, at });
    } else {
      receipts.push({ networkId: event.id, kind: event.k, chat: event.chat, by: event.by, at });
    }
  }
  return { receipts, messages };
}
