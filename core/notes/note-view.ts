import type { ChatNote } from '@posthorn/contract/messaging/notes.ts';

/** A row of `chat_notes`, as far as it is shown. */
export interface NoteRow {
  id: number;
  chat_jid: string;
  note: string;
  author_user_id: number;
  created_at: Date;
  updated_at: Date;
}

export const NOTE_COLUMNS = 'id, chat_jid, note, author_user_id, created_at, updated_at';

export function noteView(row: NoteRow): ChatNote {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
