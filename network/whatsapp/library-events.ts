/** The edge to the library: what it makes of that which others send, before it does anything with it. */
import type { LibraryEvents, LibraryMessage, LibrarySocket } from './library-types.ts';

/**
 * Hands over messages as they come, past the library's buffer. The buffer knows a message by its chat and its id alone,
 * and applies edits and deletions to what it holds, whoever sent them: while an instance catches up, any member of a
 * group could give the messages of the others new words under their names. Of its updates of messages only stars are
 * passed on, which come from the account's own devices. Calls without an id or a caller are dropped.
 */
export function passBuffer(ev: LibrarySocket['ev'], onMessage: (message: LibraryMessage) => void): void {
  const emit = ev.emit.bind(ev) as (event: string, told: unknown) => boolean;
  const emitAny = (event: string, told: readonly unknown[]) => told.length === 0 || emit(event, told);
  ev.emit = (event: string, told: unknown): boolean => {
    switch (event) {
      case 'messages.upsert':
        for (const message of (told as LibraryEvents['messages.upsert']).messages) onMessage(message);
        return true;
      case 'messages.update':
        return emitAny(event, starsOf(told as LibraryEvents['messages.update']));
      case 'call':
        return emitAny(event, (told as LibraryEvents['call']).filter(isWhole));
      default:
        return emit(event, told);
    }
  };
}

function starsOf(updates: LibraryEvents['messages.update']): LibraryEvents['messages.update'] {
  return updates.flatMap(({ key, update: { starred } }) =>
    typeof starred === 'boolean' ? [{ key, update: { starred } }] : [],
  );
}

function isWhole({ id, from }: Partial<LibraryEvents['call'][number]>): boolean {
  return typeof id === 'string' && typeof from === 'string';
}
