/** What the signal library does to sessions, mended at its edge before anything has loaded it. */

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

/** More than once is once. */
export function mendSignalSessions(fromLibrary: NodeJS.Require): void {
  removeQueue(fromLibrary);
  undoFailedTries(fromLibrary('libsignal/src/session_cipher') as SessionCipher);
}

/**
 * The library has one queue in the process for each address. A job runs in the asynchronous context of whoever began the
 * queue, which may be another session or a transaction that is over: what it stores would not be stored with the
 * transaction of its own session, or never. And where one session waits, all that write to the same contact would wait.
 * Each session of ours has its own order (`inbox.ts`), so a job runs at once.
 */
function removeQueue(fromLibrary: NodeJS.Require): void {
  const queue = 'libsignal/src/queue_job';
  fromLibrary(queue);
  fromLibrary.cache[fromLibrary.resolve(queue)]!.exports = (_address: string, job: () => unknown) => job();
}

/**
 * A contact has several sessions, and what arrives is tried with one after the other. A try moves the ratchet before it
 * knows whether the message is of that session; the library keeps what a failed one has moved, and what is sent in that
 * session afterwards can be read by nobody. So a try that fails leaves the session as it was.
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
