/**
 * Holds back what goes to the network until what it depends on is stored. The library encrypts frames one after the
 * other and acknowledges by itself, so no single frame can be told from the others: each waits for whatever was
 * being stored when it was written, in order.
 *
 * When something could not be stored, nothing more goes out: the network then tells the next session again, from
 * where this one stood.
 */
import type { RawSocket } from './library-types.ts';

export interface FrameGate {
  /** Frames that are written from now on wait for this. */
  hold(work: Promise<unknown>): void;
  /** Puts the gate before the socket's `send`. */
  guard(socket: RawSocket): void;
  /** Nothing goes out any more. */
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
