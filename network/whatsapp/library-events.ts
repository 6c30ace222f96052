/** Intercepts the library's events about data from others, before the library processes them further. */
import type { LibraryEvents, LibraryMessage, LibrarySocket } from './library-types.ts';

/**
 * Hands over messages, changes of groups and parts of the history as they arrive, bypassing the library's buffer. The buffer
 * identifies a message only by chat and id, and applies edits and deletions to buffered messages without checking the sender:
 * while an instance catches up, any group member could put new text under the names of others. The only message
 * updates that pass are stars, which come from the account's own devices. The buffer keeps only the first change of a
 * group. It joins parts of the history, and says of all what the last of them says. Calls without an id or a caller are
 * dropped.
 */
export function passBuffer(
  ev: LibrarySocket['ev'],
  on: {
    message(message: LibraryMessage): void;
    groupChanges(changes: LibraryEvents['groups.update']): void;
    history(part: LibraryEvents['messaging-history.set']): void;
  },
): void {
  const emit = ev.emit.bind(ev) as (event: string, told: unknown) => boolean;
  const emitAny = (event: string, told: readonly unknown[]) => told.length === 0 || emit(event, told);
  ev.emit = (event: string, told: unknown): boolean => {
    switch (event) {
      case 'messages.upsert':
        for (const message of (told as LibraryEvents['messages.upsert']).messages) on.message(message);
        return true;
      case 'groups.update':
        on.groupChanges(told as LibraryEvents['groups.update']);
        return true;
      case 'messaging-history.set':
        on.history(told as LibraryEvents['messaging-history.set']);
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
