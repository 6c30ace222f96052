import type { Client } from '@posthorn/sdk/index.ts';

/** What the pages have to know of an event: what they show may have changed. */
export interface Sign {
  type: string;
  instanceId: string | null;
}

export interface LiveEvents {
  onSign(listener: (sign: Sign) => void): () => void;
  /** Whether the stream of this browser stands. */
  isOpen(): boolean;
  onChange(listener: () => void): () => void;
  stop(): void;
}

const CHANNEL = 'posthorn-events';
const LOCK = 'posthorn-events-reader';

type Told = { sign: Sign } | { open: boolean };

/**
 * One stream of events for all tabs of a browser: the tab that holds the lock reads it and tells the others. When it is
 * closed, another one gets the lock. The stream goes on after its last event when the connection comes back.
 */
export function createLiveEvents(client: Client, onError: (error: unknown) => void): LiveEvents {
  const channel = new BroadcastChannel(CHANNEL);
  const stopping = new AbortController();
  const signs = new Set<(sign: Sign) => void>();
  const changes = new Set<() => void>();
  let open = false;

  function hear(told: Told): void {
    if ('sign' in told) {
      for (const listener of signs) listener(told.sign);
    } else if (told.open !== open) {
      open = told.open;
      for (const listener of changes) listener();
    }
  }
  function tell(told: Told): void {
    channel.postMessage(told);
    hear(told);
  }
  channel.onmessage = ({ data }: MessageEvent<Told>) => hear(data);

  async function read(): Promise<void> {
    const { signal } = stopping;
    const stream = client.events.stream({
      signal,
      onOpen: () => tell({ open: true }),
      onReconnect: () => tell({ open: false }),
    });
    for await (const { type, instance_id } of stream) tell({ sign: { type, instanceId: instance_id } });
  }
  navigator.locks.request(LOCK, { signal: stopping.signal }, read).catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    tell({ open: false });
    onError(error);
  });

  return {
    isOpen: () => open,
    onSign: (listener) => subscribe(signs, listener),
    onChange: (listener) => subscribe(changes, listener),
    stop() {
      stopping.abort();
      channel.close();
    },
  };
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
