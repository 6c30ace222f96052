/**
 * Limits the received data that sessions hold until the owner has recorded it. A session that holds too much stops
 * reading its connection: the network keeps the rest, and nothing that was not stored is acknowledged.
 */

/** The connection of a session, as far as reading it goes. */
export interface PausableConnection {
  pause(): void;
  resume(): void;
  /** Whether a question to the network is open: what the session holds may wait for its answer. */
  isAsking(): boolean;
}

/** The received data that one session holds. */
export interface SessionIntake {
  /** Counts something that arrived, until the returned function is called. */
  hold(bytes: number): () => void;
  /** Lets the connection be read, so that it can close, and counts nothing more. */
  close(): void;
}

/** All sessions of a process. */
export interface Intake {
  open(connection: PausableConnection): SessionIntake;
  /** Held by all sessions. */
  heldBytes(): number;
}

export interface IntakeLimits {
  /** A session that holds more stops reading. */
  sessionBytes: number;
  /** The same for a session that waits for an answer. */
  askingBytes: number;
  /** When all sessions together hold more, those stop reading that hold more than an even part of it. */
  processBytes: number;
  /** A paused connection is read once in this time, so that the library sees that it lives. */
  signOfLifeMs: number;
}

/**
 * Counted for each item besides its bytes: objects, promises and written copies of it. The same for an item that is not
 * decrypted yet: once it is read, nothing stops it.
 */
export const ITEM_BYTES = 4_096;

/** A text counts some 4 KiB, so a session holds about 1,000 of them, eight batches of its owner. */
export const LIMITS: IntakeLimits = {
  sessionBytes: 4 * 1024 * 1024,
  askingBytes: 32 * 1024 * 1024,
  processBytes: 128 * 1024 * 1024,
  // The library ends a connection on which nothing arrived for 30 s.
  signOfLifeMs: 10_000,
};

/** How often a paused session looks whether it has asked something since, or others have made room. */
const LOOK_MS = 250;

interface Held {
  bytes: number;
  /** Set while the connection is paused. */
  pauseTimer: NodeJS.Timeout | null;
  isClosed: boolean;
}

export function createIntake(limits: IntakeLimits = LIMITS): Intake {
  let total = 0;
  /** Sessions that hold something. */
  const holders = new Set<Held>();

  function add(held: Held, bytes: number): void {
    held.bytes += bytes;
    total += bytes;
    if (held.bytes > 0) holders.add(held);
    else holders.delete(held);
  }

  function limitOf(connection: PausableConnection): number {
    const evenPart = total > limits.processBytes ? limits.processBytes / holders.size : Infinity;
    if (evenPart <= limits.sessionBytes) return evenPart;
    return Math.min(evenPart, connection.isAsking() ? limits.askingBytes : limits.sessionBytes);
  }

  function open(connection: PausableConnection): SessionIntake {
    const held: Held = { bytes: 0, pauseTimer: null, isClosed: false };

    function pause(): void {
      connection.pause();
      const pausedAtMs = performance.now();
      held.pauseTimer ??= setInterval(() => {
        const isSignOfLifeDue = performance.now() - pausedAtMs >= limits.signOfLifeMs;
        // The next arrival pauses it again.
        if (hasRoom() || (isSignOfLifeDue && held.bytes <= limits.askingBytes)) resume();
      }, LOOK_MS).unref();
    }

    function resume(): void {
      if (held.pauseTimer) clearInterval(held.pauseTimer);
      held.pauseTimer = null;
      connection.resume();
    }

    /** Half of the limit, so that it does not stop and go with each record; but an answer is waited for. */
    function hasRoom(): boolean {
      const limit = limitOf(connection);
      return held.bytes <= (limit > limits.sessionBytes ? limit : limit / 2);
    }

    function release(bytes: number): void {
      if (held.isClosed) return;
      add(held, -bytes);
      if (held.pauseTimer && held.bytes <= limits.sessionBytes / 2 && hasRoom()) resume();
    }

    return {
      hold(bytes) {
        if (held.isClosed) return () => undefined;
        add(held, bytes);
        const isMuch = held.bytes > limits.sessionBytes || total > limits.processBytes;
        if (isMuch && held.bytes > limitOf(connection)) pause();
        return () => release(bytes);
      },
      close() {
        held.isClosed = true;
        add(held, -held.bytes);
        resume();
      },
    };
  }

  return { open, heldBytes: () => total };
}

/** The bytes and characters in a value of the library. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 0;
  for (const each of Object.values(value)) bytes += sizeOf(each);
  return bytes;
}
