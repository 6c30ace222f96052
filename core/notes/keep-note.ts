import { apiError } from '@posthorn/contract/api-error.ts';
import { INTEGER_ID_MAX } from '@posthorn/contract/limits.ts';
import type { ChatNote } from '@posthorn/contract/messaging/notes.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { chatJidOf } from '../chats/chat-jid.ts';
import { holdAddresses } from '../instances/lock-leases.ts';
import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { cutPage, shortened } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';
import { NOTE_COLUMNS, type NoteRow, noteView } from './note-view.ts';

export interface NoteInput {
  principal: Principal;
  instanceId: string;
  chatId: string;
}

/** Writes a note on a chat (CHT-3). Its author is who asks, by a key the user of the key. */
export async function createNote(
  deps: { db: Db; clock: Clock },
  input: NoteInput & { note: string },
): Promise<ChatNote> {
  const { companyId, instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const made = await deps.db.transaction(async (sql) => {
    // Else the chat could move meanwhile, and the note would be stored where nobody looks for it.
    await holdAddresses(sql, instanceId);
    const chatJid = await chatJidOf(sql, instanceId, input.chatId);
    return sql.query<NoteRow>(
      `INSERT INTO chat_notes (company_id, instance_id, chat_jid, note, author_user_id, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING ${NOTE_COLUMNS}`,
      [companyId, instanceId, chatJid, input.note, input.principal.userId, deps.clock.now()],
    );
  });
  return noteView(oneRow(made.rows));
}

/** The notes on a chat, newest first, as far as LIM-10 goes; `next_before` null: that was all. */
export async function listNotes(
  deps: { db: Db },
  input: NoteInput & { limit: number; before?: number | undefined },
): Promise<{ notes: ChatNote[]; next_before: number | null }> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const query = `SELECT ${NOTE_COLUMNS} FROM chat_notes WHERE instance_id = $1 AND chat_jid = $2 AND id < $3
    ORDER BY id DESC LIMIT $4`;
  const found = await deps.db.query<NoteRow & { listed: number }>(
    `SELECT ${NOTE_COLUMNS}, listed FROM ${shortened(query, 'octet_length(note)', 'id DESC')} AS notes ORDER BY id DESC`,
    [
      instanceId,
      await chatJidOf(deps.db, instanceId, input.chatId),
      input.before ?? INTEGER_ID_MAX,
      input.limit + 1,
    ],
  );
  const { page, last } = cutPage(found.rows, input.limit, found.rows[0]?.listed);
  return { notes: page.map(({ listed: _, ...row }) => noteView(row)), next_before: last?.id ?? null };
}

/** Throws 404 NOT_FOUND for a note that is not in this chat. */
export async function updateNote(
  deps: { db: Db; clock: Clock },
  input: NoteInput & { noteId: string; note: string },
): Promise<ChatNote> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const changed = await deps.db.query<NoteRow>(
    `UPDATE chat_notes SET note = $4, updated_at = $5 WHERE id = $1 AND instance_id = $2 AND chat_jid = $3
     RETURNING ${NOTE_COLUMNS}`,
    [
      noteIdOf(input.noteId),
      instanceId,
      await chatJidOf(deps.db, instanceId, input.chatId),
      input.note,
      deps.clock.now(),
    ],
  );
  const row = changed.rows[0];
  if (!row) throw apiError('NOT_FOUND');
  return noteView(row);
}

/** Throws as {@link updateNote}. */
export async function deleteNote(deps: { db: Db }, input: NoteInput & { noteId: string }): Promise<void> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const gone = await deps.db.query(
    'DELETE FROM chat_notes WHERE id = $1 AND instance_id = $2 AND chat_jid = $3',
    [noteIdOf(input.noteId), instanceId, await chatJidOf(deps.db, instanceId, input.chatId)],
  );
  if (gone.rowCount === 0) throw apiError('NOT_FOUND');
}

/** A text that is no number names no note. */
function noteIdOf(text: string): number {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  return id <= INTEGER_ID_MAX ? id : 0;
}
