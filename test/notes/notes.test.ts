import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NOTE_MAX_CHARS } from '@posthorn/contract/limits.ts';
import { withRole } from '../server/seed-ids.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const CHAT = '5511987654321';
const JID = `${CHAT}@s.whatsapp.net`;

describe('notes on chats', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  let instanceId: string;
  before(async () => {
    api = await startTestMessaging();
    owner = await seedCompany(api.parts.db);
    // Notes are never sent, so they are also stored for an instance that is away.
    instanceId = await seedInstance(api.parts.db, owner.companyId, { state: 'DISCONNECTED' });
  });
  after(() => api.close());

  async function ask(method: string, path: string, body?: unknown, who = owner, of = instanceId) {
    const answer = await api.call(method, `/v1/instances/${of}${path}`, {
      key: who.apiKey,
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, code: answer.body?.error_code, body: answer.body };
  }

  test('are written, listed newest first, changed and deleted', async () => {
    const notes = `/chats/${CHAT}/notes`;
    // biome-ignore lint/suspicious/noExplicitAny: notes are looked at field by field
    const made: any[] = [];
    for (const note of ['first', 'second', 'third']) {
      const { status, body } = await ask('POST', notes, { note });
      assert.equal(status, 201);
      assert.deepEqual(body, {
        id: body.id,
        chat_jid: JID,
        note,
        author_user_id: owner.userId,
        created_at: body.created_at,
        updated_at: body.created_at,
      });
      made.push(body);
    }
    const listed = (await ask('GET', notes)).body.notes;
    assert.deepEqual(listed, made.toReversed());
    assert.deepEqual((await ask('GET', `${notes}?limit=1`)).body.notes, [made[2]]);
    assert.deepEqual((await ask('GET', `${notes}?limit=1&before=${made[2].id}`)).body.notes, [made[1]]);

    const changed = await ask('PATCH', `${notes}/${made[0].id}`, { note: 'better' });
    assert.equal(changed.status, 200);
    assert.deepEqual({ ...changed.body, updated_at: '' }, { ...made[0], note: 'better', updated_at: '' });
    assert.ok(changed.body.updated_at >= made[0].updated_at);
    assert.equal((await ask('DELETE', `${notes}/${made[1].id}`)).status, 204);
    assert.deepEqual(
      (await ask('GET', notes)).body.notes.map(({ note }: { note: string }) => note),
      ['third', 'better'],
    );
    const { rows } = await api.parts.db.query('SELECT 1 FROM outbox UNION ALL SELECT 1 FROM network_calls');
    assert.equal(rows.length, 0, 'nothing was sent or asked');
  });

  test('belong to one chat, in any spelling of its id', async () => {
    const { body: note } = await ask('POST', '/chats/+55 11 95555-0001/notes', { note: 'here' });
    assert.equal(note.chat_jid, '5511955550001@s.whatsapp.net');
    for (const spelling of ['5511955550001', '+5511955550001', '5511955550001@s.whatsapp.net']) {
      const listed = await ask('GET', `/chats/${encodeURIComponent(spelling)}/notes`);
      assert.deepEqual(listed.body.notes, [note], spelling);
    }
    for (const [method, body] of [
      ['PATCH', { note: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      for (const path of [`/chats/5511955550002/notes/${note.id}`, '/chats/5511955550001/notes/999999999']) {
        const answer = await ask(method, path, body);
        assert.deepEqual([answer.status, answer.code], [404, 'NOT_FOUND'], `${method} ${path}`);
      }
    }
    const other = await seedInstance(api.parts.db, owner.companyId);
    assert.deepEqual(
      (await ask('GET', '/chats/5511955550001/notes', undefined, owner, other)).body.notes,
      [],
    );
    const elsewhere = await ask('DELETE', `/chats/5511955550001/notes/${note.id}`, undefined, owner, other);
    assert.deepEqual([elsewhere.status, elsewhere.code], [404, 'NOT_FOUND']);
  });

  test(`have 1 to ${NOTE_MAX_CHARS} characters, counted as people see them`, async () => {
    const notes = `/chats/${CHAT}/notes`;
    for (const note of ['x'.repeat(NOTE_MAX_CHARS), '😀'.repeat(NOTE_MAX_CHARS)]) {
      const made = await ask('POST', notes, { note });
      assert.equal(made.status, 201);
      assert.equal(made.body.note, note);
      assert.equal((await ask('PATCH', `${notes}/${made.body.id}`, { note })).status, 200);
    }
    for (const [body, code] of [
      [{}, 'MISSING_FIELD'],
      [{ note: '' }, 'MISSING_FIELD'],
      [{ note: 'x'.repeat(NOTE_MAX_CHARS + 1) }, 'BAD_REQUEST'],
      [{ note: '😀'.repeat(NOTE_MAX_CHARS + 1) }, 'BAD_REQUEST'],
      [{ note: 5 }, 'BAD_REQUEST'],
    ] as const) {
      const answer = await ask('POST', notes, body);
      assert.deepEqual([answer.status, answer.code], [400, code], JSON.stringify(body).slice(0, 40));
    }
    for (const [chat, code] of [
      ['12', 'INVALID_PHONE'],
      ['nobody@nowhere', 'INVALID_RECIPIENT'],
    ] as const) {
      const answer = await ask('POST', `/chats/${chat}/notes`, { note: 'x' });
      assert.deepEqual([answer.status, answer.code], [400, code], chat);
    }
  });

  test('belong to owners and admins, and name their author', async () => {
    const admin = await withRole(api.parts.db, owner, 'admin');
    const agent = await withRole(api.parts.db, owner, 'agent');
    const made = await ask('POST', '/chats/5511955550003/notes', { note: 'x' }, admin);
    assert.deepEqual([made.status, made.body.author_user_id], [201, admin.userId]);
    const refused = await ask('GET', '/chats/5511955550003/notes', undefined, agent);
    assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_PERMISSIONS']);
    const stranger = await seedCompany(api.parts.db);
    const foreign = await ask('GET', '/chats/5511955550003/notes', undefined, stranger);
    assert.deepEqual([foreign.status, foreign.code], [404, 'INSTANCE_NOT_FOUND']);
  });

  test('go with their instance', async () => {
    const gone = await seedInstance(api.parts.db, owner.companyId, { state: 'DISCONNECTED' });
    await ask('POST', `/chats/${CHAT}/notes`, { note: 'x' }, owner, gone);
    assert.equal((await ask('DELETE', '', undefined, owner, gone)).status, 204);
    const { rows } = await api.parts.db.query('SELECT 1 FROM chat_notes WHERE instance_id = $1', [gone]);
    assert.equal(rows.length, 0);
  });
});
