/** Fixes for the signal library's handling of sessions, applied before anything loads it. */

interface Session {
  serialize(): unknown;
  constructor: unknown;
}
interface SessionCipher {
  prototype: {
    doDecryptWhisperMessage(message: Uint8Array, session: Session | undefined): Promise<Uint8Array>;
  };
}

const MENDED = Symbol.for('posthorn.whatsapp.mended');

/** Repeated calls have no effect. */
export function mendSignalSessions(fromLibrary: NodeJS.Require): void {
  removeQueue(fromLibrary);
  undoFailedTries(fromLibrary('libsignal/src/session_cipher') as SessionCipher);
}

/**
 * The library has one queue per address in the whole process. A job runs in the asynchronous context in which
 * the queue was started, which may be another session's or a finished transaction's: its writes would miss
 * its own session's transaction, or never happen. And if one session waits, all that write to the same
 * contact would wait. Our sessions keep their own order (`inbox.ts`), so jobs run immediately.
 */
function removeQueue(fromLibrary: NodeJS.Require): void {
  const queue = 'libsignal/src/queue_job';
  fromLibrary(queue);
  fromLibrary.cache[fromLibrary.resolve(queue)]!.exports = (_address: string, job: () => unknown) => job();
}

/**
 * A contact has several sessions, and a received message is tried with one after the other. A try moves the
 * ratchet before it knows whether the message belongs to that session; the library keeps the state of a
 * failed try, and nobody can read messages sent in that session afterwards. So a failed try restores the
 * session.
 */
function undoFailedTries({ prototype }: SessionCipher): void {
  if (MENDED in prototype) return;
  Object.assign(prototype, { [MENDED]: true });
  const { doDecryptWhisperMessage } = prototype;
  prototype.doDecryptWhisperMessage = async function (message, session) {
    const before = session?.serialize();
    try {
      return await doDecryptWhisperMessage.call(this, message, session);
    } catch (err) {
      if (session) Object.assign(session, (session.constructor as Restore).deserialize(before));
      throw err;
    }
  };
}

interface Restore {
  deserialize(before: unknown): Session;
}
