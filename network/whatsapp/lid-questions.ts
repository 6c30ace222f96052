/**
 * Limits queries for anonymous ids. The library needs a contact's id to begin a session with it, and queries
 * for it at each step of each send, however often the network has returned none.
 */

/** The library's query; returns the ids the network knows. */
export type AskLids = (phoneJids: string[]) => Promise<{ pn: string; lid: string }[]>;

export interface LidQuestions {
  /** The same query, limited to contacts for whom an answer can be expected by now. */
  around(ask: AskLids): AskLids;
  /** How often in a row the network has returned no id for this contact. */
  failures(phoneJid: string): number;
}

const FIRST_WAIT_MS = 5_000;
const LAST_WAIT_MS = 10 * 60_000;
/** Maximum contacts without an id to remember. */
const ENTRIES_MAX = 1_000;

export function createLidQuestions(nowMs: () => number): LidQuestions {
  const unnamed = new Map<string, { failures: number; nextAtMs: number }>();

  function note(jid: string): void {
    const failures = (unnamed.get(jid)?.failures ?? 0) + 1;
    unnamed.delete(jid);
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LAST_WAIT_MS);
    unnamed.set(jid, { failures, nextAtMs: nowMs() + waitMs });
    if (unnamed.size > ENTRIES_MAX) unnamed.delete(unnamed.keys().next().value!);
  }

  return {
    around: (ask) => async (phoneJids) => {
      const now = nowMs();
      const due = phoneJids.filter((jid) => (unnamed.get(jid)?.nextAtMs ?? 0) <= now);
      if (due.length === 0) return [];
      const found = await ask(due);
      const named = new Set(found.map(({ pn }) => pn));
      for (const jid of due) {
        if (named.has(jid)) unnamed.delete(jid);
        else note(jid);
      }
      return found;
    },
    failures: (phoneJid) => unnamed.get(phoneJid)?.failures ?? 0,
  };
}
