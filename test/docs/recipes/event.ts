import type { Edit, TestRun } from './edits.ts';

/** "Add an event" with its own example, `note.created`. */
export const eventEdits: readonly Edit[] = [
  {
    file: 'contract/event-payloads.ts',
    before: 'export const webhookTest = ',
    add: `export const noteCreated = z
  .object({ note_id: z.int(), chat: z.string(), author_user_id: z.int().nullable(), timestamp })
  .meta({ id: 'NoteCreatedEvent' });

`,
  },
  {
    file: 'contract/events.ts',
    before: "  'instance.qr_updated': payload.",
    add: "  'note.created': payload.noteCreated,\n",
  },
  {
    file: 'core/notes/keep-note.ts',
    before: "import type { Db } from '../platform/database/db.ts';\n",
    add: `import { buildEvent } from '../events/build-event.ts';
import { tellEvents } from '../events/tell-events.ts';
import type { Bus } from '../platform/broker/bus.ts';
`,
  },
  {
    file: 'core/notes/keep-note.ts',
    replace: 'export async function createNote(\n  deps: { db: Db; clock: Clock },',
    by: 'export async function createNote(\n  deps: { db: Db; bus: Bus; clock: Clock },',
  },
  {
    file: 'core/notes/keep-note.ts',
    replace: '  const made = await deps.db.transaction(async (sql) => {\n    // Else the chat could move',
    by: `  return tellEvents(deps, (tell) => deps.db.transaction(async (sql) => {
    // Else the chat could move`,
  },
  {
    file: 'core/notes/keep-note.ts',
    replace: '    return sql.query<NoteRow>(\n',
    by: '    const now = deps.clock.now();\n    const made = await sql.query<NoteRow>(\n',
  },
  {
    file: 'core/notes/keep-note.ts',
    replace: `input.principal.userId, deps.clock.now()],
    );
  });
  return noteView(oneRow(made.rows));
`,
    by: `input.principal.userId, now],
    );
    const note = noteView(oneRow(made.rows));
    const { id: note_id, author_user_id } = note;
    const data = { note_id, chat: chatJid, author_user_id, timestamp: now.toISOString() };
    await tell(sql, [buildEvent({ companyId, instanceId }, { type: 'note.created', data, now })]);
    return note;
  }));
`,
  },
  {
    file: 'server/messaging/notes-routes.ts',
    before: "import type { Db } from '@posthorn/core/platform/database/db.ts';\n",
    add: "import type { Bus } from '@posthorn/core/platform/broker/bus.ts';\n",
  },
  {
    file: 'server/messaging/notes-routes.ts',
    replace: 'notesRoutes(deps: { db: Db; clock: Clock })',
    by: 'notesRoutes(deps: { db: Db; bus: Bus; clock: Clock })',
  },
  {
    file: 'test/events/fixtures.ts',
    before: "  'instance.qr_updated': {",
    add: "  'note.created': { note_id: 7, chat: message.chat, author_user_id: 3, timestamp: TIME },\n",
  },
  {
    file: 'test/events/events-doc.ts',
    before: "  ['webhook.test', ",
    add: "  ['note.created', 'somebody wrote a note on a chat'],\n",
  },
  {
    file: 'test/notes/told-notes.test.ts',
    create: `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

let api: TestMessaging;
before(async () => {
  api = await startTestMessaging();
});
after(() => api.close());

test('a note is told once, with who wrote it', async () => {
  const owner = await seedCompany(api.parts.db);
  const id = await seedInstance(api.parts.db, owner.companyId);
  const path = \`/v1/instances/\${id}/chats/5511987654321/notes\`;
  const { body } = await api.call('POST', path, { key: owner.apiKey, body: { note: 'Likes tea' } });
  const { rows } = await api.parts.db.query('SELECT type, data FROM events WHERE instance_id = $1', [id]);
  const data = { note_id: body.id, chat: body.chat_jid, author_user_id: owner.userId, timestamp: body.created_at };
  assert.deepEqual(rows, [{ type: 'note.created', data }]);
});
`,
  },
];

/** Tests that then have to pass: every way to subscribe delivers the event, and its cause emits it once. */
export const eventTests: readonly TestRun[] = [
  {
    files: ['test/events/fixtures.test.ts', 'test/notes/told-notes.test.ts'],
    passes: 'a note is told once',
  },
];
