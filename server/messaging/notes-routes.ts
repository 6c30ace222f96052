import type { notes } from '@posthorn/contract/messaging/notes.ts';
import { createNote, deleteNote, listNotes, updateNote } from '@posthorn/core/notes/keep-note.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Handlers } from '../http/handler.ts';

/** Notes on chats, which are never sent (docs/reference/labels-chats.md). */
export function notesRoutes(deps: { db: Db; clock: Clock }): Handlers<typeof notes> {
  return {
    create: async ({ principal, params, body }) => ({
      status: 201,
      body: await createNote(deps, { principal, ...params, ...body }),
    }),
    list: async ({ principal, params, query }) => ({
      status: 200,
      body: await listNotes(deps, { principal, ...params, ...query }),
    }),
    update: async ({ principal, params, body }) => ({
      status: 200,
      body: await updateNote(deps, { principal, ...params, ...body }),
    }),
    remove: async ({ principal, params }) => {
      await deleteNote(deps, { principal, ...params });
      return { status: 204 };
    },
  };
}
