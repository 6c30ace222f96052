import type { Client } from '@posthorn/sdk/index.ts';
import { askAgainAfterMs } from './connection.ts';

/** The part of an event that pages need: a sign that their data may have changed. */
export interface Sign {
  type: string;
  instanceId: string | null;
}

export interface LiveEvents {
  onSign(listener: (sign: Sign) => void): () => void;
  /** Whether this browser's stream is open. */
  isOpen(): boolean;
  onChange(listener: () => void): () => void;
  stop(): void;
}

const CHANNEL = 'posthorn-events';
const LOCK = 'posthorn-events-reader';

/** A message between tabs. A tab that opens later asks whether the stream is open. */
type Told = { sign: Sign; cursor: string } | { open: boolean } | 'asks';

/**
 * One stream of events for all tabs of a browser: the tab that holds the lock reads it and tells the others. When it is
 * closed, another one gets the lock. When the connection comes back, the stream continues after its last event. It is
 * restarted as long as somebody is signed in.
 *
 * Under plain http, locks exist only on localhost. Elsewhere each tab reads its own stream, and only while it is
 * visible: a browser opens six connections to a service, and streams of many tabs would take them all.
 */
// long: one stream, and those that hear of it.
export function createLiveEvents(client: Client, onError: (error: unknown) => void): LiveEvents {
  const { locks } = navigator as { locks?: LockManager };
  const channel = locks ? new BroadcastChannel(CHANNEL) : null;
  const stopping = new AbortController();
  const signs = new Set<(sign: Sign) => void>();
  const changes = new Set<() => void>();
  let open = false;
  let isReader = false;
  let cursor: string | undefined;

  function hear(told: Told): void {
    if (told === 'asks') {
      if (isReader) channel?.postMessage({ open } satisfies Told);
    } else if ('sign' in told) {
      cursor = told.cursor;
      for (const listener of signs) listener(told.sign);
    } else if (told.open !== open) {
      open = told.open;
      for (const listener of changes) listener();
    }
  }
  function tell(told: Told): void {
    channel?.postMessage(told);
    hear(told);
  }
  if (channel) channel.onmessage = ({ data }: MessageEvent<Told>) => hear(data);
  channel?.postMessage('asks' satisfies Told);

  async function read(signal: AbortSignal): Promise<void> {
    const stream = client.events.stream({
      signal,
      lastEventId: cursor,
      onOpen: () => tell({ open: true }),
      onReconnect: () => tell({ open: false }),
    });
    for await (const { type, instance_id, cursor: at } of stream)
      tell({ sign: { type, instanceId: instance_id }, cursor: at });
  }
  async function readOn(): Promise<void> {
    isReader = true;
    // The tab that read before told of no event to go on from: what happens until the stream opens is missed.
    if (cursor === undefined) tell({ open: false });
    while (!stopping.signal.aborted) {
      if (!locks) await untilSeen();
      const signal = locks ? stopping.signal : AbortSignal.any([stopping.signal, untilHidden()]);
      const error = await read(signal).catch((fault: unknown) => fault);
      if (stopping.signal.aborted) return;
      tell({ open: false });
      if (signal.aborted) continue;
      // If the user is no longer signed in, this stops the stream.
      onError(error);
      // A cursor that the service refuses must not be sent for ever.
      cursor = undefined;
      await new Promise((resolve) => setTimeout(resolve, askAgainAfterMs(error)));
    }
  }
  if (locks) locks.request(LOCK, { signal: stopping.signal }, readOn).catch(() => undefined);
  else void readOn();

  return {
    isOpen: () => open,
    onSign: (listener) => subscribe(signs, listener),
    onChange: (listener) => subscribe(changes, listener),
    stop() {
      stopping.abort();
      channel?.close();
    },
  };
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

async function untilSeen(): Promise<void> {
  if (document.visibilityState === 'visible') return;
  await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}

function untilHidden(): AbortSignal {
  const hiding = new AbortController();
  document.addEventListener('visibilitychange', () => hiding.abort(), { once: true });
  return hiding.signal;
}
