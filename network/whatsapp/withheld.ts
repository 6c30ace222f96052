/**
 * Messages that the network withholds from linked devices: it tells them that there is one, and the library asks the
 * account's own phone for it, which may be off. It also asks for a message that it cannot open, and its sender, too. One that nobody
 * has given within a day is due: it is told without content.
 */
import { KINDS } from './keys.ts';
import type { LibraryMessage } from './library-types.ts';
import type { SharedKeys } from './shared-keys.ts';
import { kindOf, unwrap } from './wire/content.ts';

interface Row {
  /** All but the content. */
  message: LibraryMessage;
  dueMs: number;
  /** It was told without content. */
  isTold?: boolean;
}

export interface Withheld {
  /** Resolves when it is durable. One that nobody is `asked` for is due at once. */
  note(message: LibraryMessage, asked: boolean): Promise<void>;
  /** Those that may still come, the oldest first. */
  open(): Promise<LibraryMessage[]>;
  /** Whether one may be due; cheap. */
  mayBeDue(): boolean;
  /** Those that are due now, each once. */
  takeDue(): Promise<LibraryMessage[]>;
  /** The one with this id, which a message of somebody else may have, too. */
  find(id: string): Promise<Pick<Row, 'message' | 'isTold'> | undefined>;
  /** These are recorded: with their content, or as those that nobody gave. */
  recorded(messages: readonly LibraryMessage[]): Promise<void>;
}

/** The library's mark of a message that cannot be opened: `StubType.CIPHERTEXT`. */
const UNOPENED = 2;
const PATIENCE_MS = 24 * 60 * 60_000;
/**
 * Strangers cause them by sending to phones alone. With more, the oldest are due, and those that were told are
 * forgotten.
 */
const ROWS_MAX = 1_000;

export function createWithheld(keys: SharedKeys, nowMs: () => number): Withheld {
  let loading: Promise<Map<string, Row>> | null = null;
  /** Handed out by this session. */
  const taken = new Set<string>();
  let firstDueMs = Infinity;

  function rows(): Promise<Map<string, Row>> {
    loading ??= load().catch((err) => {
      loading = null;
      throw err;
    });
    return loading;
  }

  async function load(): Promise<Map<string, Row>> {
    const found = (await keys.read(KINDS.withheld)) as Map<string, Row>;
    const sorted = [...found].sort(([, one], [, other]) => one.dueMs - other.dueMs);
    for (const [, { dueMs, isTold }] of sorted) if (!isTold) firstDueMs = Math.min(firstDueMs, dueMs);
    return new Map(sorted);
  }

  function makeRoom(known: Map<string, Row>): void {
    if (known.size <= ROWS_MAX) return;
    const [told] = [...known].find(([, { isTold }]) => isTold) ?? [];
    if (told !== undefined) known.delete(told);
    else {
      firstDueMs = 0;
      known.values().next().value!.dueMs = 0;
    }
  }

  return {
    async note(message, asked) {
      const id = message.key.id!;
      const known = await rows();
      if (known.has(id)) return;
      const row = { message, dueMs: nowMs() + (asked ? PATIENCE_MS : 0) };
      await keys.write([{ kind: KINDS.withheld, id, value: row, temporary: true }]);
      known.set(id, row);
      firstDueMs = Math.min(firstDueMs, row.dueMs);
      makeRoom(known);
    },
    async open() {
      return [...(await rows()).values()].flatMap(({ message, isTold }) => (isTold ? [] : [message]));
    },
    mayBeDue: () => nowMs() >= firstDueMs,
    async takeDue() {
      const known = await rows();
      const now = nowMs();
      firstDueMs = Infinity;
      const due: LibraryMessage[] = [];
      for (const [id, { message, dueMs, isTold }] of known) {
        if (isTold || taken.has(id)) continue;
        if (dueMs > now) {
          firstDueMs = Math.min(firstDueMs, dueMs);
          continue;
        }
        taken.add(id);
        due.push({ ...message, isGivenUp: true });
      }
      return due;
    },
    find: async (id) => (await rows()).get(id),
    async recorded(messages) {
      const known = await rows();
      for (const each of messages) {
        const { key, isGivenUp } = each;
        const row = known.get(key.id ?? '');
        if (!row || !(isGivenUp || isGiven(each))) continue;
        const value = isGivenUp ? { ...row, isTold: true } : null;
        await keys.write([{ kind: KINDS.withheld, id: key.id!, value, temporary: true }]);
        if (value) known.set(key.id!, value);
        else known.delete(key.id!);
        taken.delete(key.id!);
      }
    },
  };
}

/** A message that cannot be opened may have a part that can, with the key of its group alone. */
function isGiven({ message, messageStubType }: LibraryMessage): boolean {
  return !!message && (messageStubType !== UNOPENED || kindOf(unwrap(message).message) !== null);
}
