import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId, integerQuery, integerRange, maxChars, timestamp } from '../fields.ts';
import { INTEGER_ID_MAX, NOTE_MAX_CHARS, NOTES_LIMIT } from '../limits.ts';
import { c, route } from '../route-meta.ts';

const noteText = z.string().min(1).check(maxChars(NOTE_MAX_CHARS));

export const noteBody = z.object({ note: noteText }).meta({ id: 'ChatNoteRequest' });

export const chatNote = z
  .object({
    id: integerId,
    chat_jid: z.string(),
    note: z.string(),
    author_user_id: integerId,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ChatNote' });
export type ChatNote = z.infer<typeof chatNote>;

const NOTES = '/v1/instances/:instanceId/chats/:chatId/notes' as const;
const READ = {
  auth: 'any',
  access: 'owner_admin',
  notFound: 'INSTANCE_NOT_FOUND',
  errors: ['INVALID_PHONE', 'INVALID_RECIPIENT'],
} as const;
const ONE = { ...READ, errors: [...READ.errors, 'NOT_FOUND'] } as const;

/** Notes on chats. They stay in the service: nothing of them is ever sent. */
export const notes = {
  create: route(
    { ...READ, summary: 'Write a note on a chat', description: 'The note never leaves the service.' },
    { method: 'POST', path: NOTES, body: noteBody, responses: { 201: chatNote } },
  ),
  list: route(
    { ...READ, summary: 'List the notes on a chat', description: 'Newest first.' },
    {
      method: 'GET',
      path: NOTES,
      query: z.object({
        limit: integerQuery(NOTES_LIMIT),
        before: integerRange({ max: INTEGER_ID_MAX })
          .optional()
          .meta({ description: 'Only notes older than the note with this id' }),
      }),
      responses: {
        200: z
          .object({
            notes: z.array(chatNote),
            next_before: integerId
              .nullable()
              .meta({ description: 'The value of before for the next page; null on the last page' }),
          })
          .meta({ id: 'ChatNoteList' }),
      },
    },
  ),
  update: route(
    { ...ONE, summary: 'Change a note' },
    { method: 'PATCH', path: `${NOTES}/:noteId`, body: noteBody, responses: { 200: chatNote } },
  ),
  remove: route(
    { ...ONE, summary: 'Delete a note' },
    { method: 'DELETE', path: `${NOTES}/:noteId`, responses: { 204: c.noBody() } },
  ),
} satisfies AppRouter;
