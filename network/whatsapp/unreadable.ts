/** Decides whether a session survives unreadable data from the network. No I/O. */

/**
 * Maximum sessions of an instance that may end within the time below; after that, such a stanza is skipped.
 */
const ENDS_MAX = 2;
const WITHIN_MS = 60 * 60_000;

export interface UnreadableBook {
  /**
   * Whether the session continues without the frame. A frame that cannot be decrypted always ends the
   * session: nothing after it can be trusted. A complete stanza of an unknown form returns at every login
   * until it is confirmed, and would end all sessions ever opened: after a few it is skipped.
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

/** AES-GCM errors of Node.js: an invalid tag, or a tag of other bytes. */
function isOfDecryption(err: unknown): boolean {
  const { code, message } = err as { code?: unknown; message?: unknown };
  return String(code).startsWith('ERR_CRYPTO') || String(message).endsWith('unable to authenticate data');
}
