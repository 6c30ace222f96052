/**
 * Holds back outgoing frames until the data they depend on is stored. The library encrypts frames one after the other
 * and acknowledges by itself, so single frames cannot be told apart: each waits, in order, until everything is stored
 * that was being stored when it was written. The writer of a frame does not wait with it, so that items that arrived
 * together are stored together. If storing fails, nothing more is sent: the network then repeats everything from this
 * point to the next session.
 */

/** The library's WebSocket under its own. */
export interface RawSocket {
  send(data: Uint8Array | string, done?: (error?: Error) => void): void;
  /** Stops reading: the bytes stay with the sender. */
  pause(): void;
  resume(): void;
}

export interface FrameGate {
  /** Frames written from now on wait for `work`. */
  hold(work: Promise<unknown>): void;
  /** Puts the gate in front of the socket's `send`. */
  guard(socket: Pick<RawSocket, 'send'>): void;
  /** Nothing more is sent. */
  close(): void;
}

export function createFrameGate(onFailure: (err: unknown) => void): FrameGate {
  let isClosed = false;
  /** Resolves when everything is stored that is being stored now; null when nothing is. */
  let held: Promise<unknown> | null = null;
  /** Resolves when the last frame that waits is written; null when none waits. */
  let line: Promise<unknown> | null = null;

  function close(): void {
    isClosed = true;
  }

  return {
    hold(work) {
      const settled = work.catch((err) => {
        if (!isClosed) onFailure(err);
        close();
      });
      const all = Promise.all([held, settled]).then(() => {
        if (held === all) held = null;
      });
      held = all;
    },
    guard(socket) {
      const send = socket.send.bind(socket);
      socket.send = (data, done) => {
        if (isClosed) return done?.(new Error('the session writes nothing more'));
        if (line === null && held === null) return send(data, done);
        const written = Promise.all([line, held]).then(() => {
          if (line === written) line = null;
          // A receiver that misses the frame asks the next session for it, or gets it from there.
          if (!isClosed) send(data, () => undefined);
        });
        line = written;
        done?.();
      };
    },
    close,
  };
}
