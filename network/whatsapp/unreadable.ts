/** What the network sent and cannot be read: what becomes of the session that got it. No I/O. */

/** A session ends for an instance so often within the time below; then such a stanza is passed over. */
const ENDS_MAX = 2;
const WITHIN_MS = 60 * 60_000;

export interface UnreadableBook {
  /**
   * Whether the session goes on without the frame. One that cannot be decrypted ends each session: nothing that comes
   * after it can be trusted. A stanza that is whole, and of no form that we know, comes again with every login until it
   * is confirmed, so that it would end all sessions that are ever opened: after a few it is passed over.
   */
  passesOver(instanceId: string, err: unknown): boolean;
}

export function createUnreadableBook(nowMs: () => number): UnreadableBook {
  const ends = new Map<string, number[]>();
  return {
    passesOver(instanceId, err) {
      if (isOfDecryption(err)) return false;
      const now = nowMs();
      for (const [id, times] of ends) if (now - times.at(-1)! > WITHIN_MS) ends.delete(id);
      const times = ends.get(instanceId) ?? [];
      if (times.length >= ENDS_MAX) return true;
      ends.set(instanceId, [...times, now]);
      return false;
    },
  };
}

/** Errors of AES-GCM, as Node.js throws them: a tag that is none, or one of other bytes. */
function isOfDecryption(err: unknown): boolean {
  const { code, message } = err as { code?: unknown; message?: unknown };
  return String(code).startsWith('ERR_CRYPTO') || String(message).endsWith('unable to authenticate data');
}
