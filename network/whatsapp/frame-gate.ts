/**
 * Holds back outgoing frames until the data they depend on is stored. The library encrypts frames one after
 * the other and acknowledges by itself, so single frames cannot be told apart: each waits, in order, for
 * everything that was being stored when it was written.
 * If storing fails, nothing more is sent: the network then repeats everything from this point to the next
 * session.
 */
import type { RawSocket } from './library-types.ts';

export interface FrameGate {
  /** Frames written from now on wait for `work`. */
  hold(work: Promise<unknown>): void;
  /** Puts the gate in front of the socket's `send`. */
  guard(socket: RawSocket): void;
  /** Nothing more is sent. */
  close(): void;
}

export function createFrameGate(onFailure: (err: unknown) => void): FrameGate {
  const held = new Set<Promise<unknown>>();
  let isClosed = false;
  let line: Promise<unknown> | null = null;

  function close(): void {
    isClosed = true;
  }

  return {
    hold(work) {
      const settled = work.then(
        () => void held.delete(settled),
        (err) => {
          held.delete(settled);
          if (!isClosed) onFailure(err);
          close();
        },
      );
      held.add(settled);
    },
    guard(socket) {
      const send = socket.send.bind(socket);
      socket.send = (data, done) => {
        if (isClosed) return done?.(new Error('the session writes nothing more'));
        if (line === null && held.size === 0) return send(data, done);
        const written = Promise.all([line, ...held]).then(() => {
          if (line === written) line = null;
          if (isClosed) done?.(new Error('the session writes nothing more'));
          else send(data, done);
        });
        line = written;
      };
    },
    close,
  };
}
