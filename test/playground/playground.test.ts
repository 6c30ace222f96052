import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { phoneOfUser } from '@posthorn/core/playground/phones.ts';
import { removePlaygroundMessages } from '@posthorn/core/playground/remove-messages.ts';
import { createSandboxPhones } from '@posthorn/core/playground/sandbox-phones.ts';
import { PLAYGROUND_INSTANCE_ID } from '@posthorn/core/playground/shared-instance.ts';
import { withRole } from '../server/seed-ids.ts';
import type { Answer } from '../support/messaging.ts';
import { awayFromMidnight } from '../support/midnight.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { type Sending, startSending } from '../support/sending.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** Tables in which a company would see a use of its resources. */
const OF_COMPANIES = [
  'messages',
  'outbox',
  'chat_guards',
  'usage_minutes',
  'events',
  'media',
  'media_usage',
  'audit_log',
  'instances',
];

/** A tenth of a second of nothing, as WAV. */
function silence(): string {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + 1_600, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(16_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(1_600, 40);
  return Buffer.concat([header, Buffer.alloc(1_600)]).toString('base64');
}

function refused(answer: Answer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body?.error_code], [status, code], answer.text);
}

describe('the playground', () => {
  let sending: Sending;
  before(async () => {
    await awayFromMidnight();
    sending = await startSending({ env: { PLAYGROUND_ENABLED: 'true' } });
  });
  after(() => sending.close());

  const someone = () => seedCompany(sending.api.parts.db);
  const send = (who: SeededCompany, body: object) =>
    sending.api.call('POST', '/v1/playground/messages', { key: who.apiKey, body });
  const get = (who: SeededCompany, path: string) =>
    sending.api.call('GET', `/v1/playground${path}`, { key: who.apiKey });
  const sent = async (who: SeededCompany, body: object): Promise<Answer['body']> => {
    const answer = await send(who, body);
    assert.equal(answer.status, 202, answer.text);
    return answer.body;
  };
  /** The message once the phone shows it and an event reports that it was read or played. */
  const shown = (who: SeededCompany, id: string) =>
    waitFor(
      async () => {
        const answer = await get(who, `/messages/${id}`);
        assert.equal(answer.status, 200, answer.text);
        const { events, shown } = answer.body;
        const types = events.map(({ type }: { type: string }) => type);
        return shown && types.includes('message.delivered') && answer.body;
      },
      60_000,
      { what: 'the phone shows it' },
    );
  /** Moves the times in the rows back, as if the messages had been sent earlier. */
  const age = (who: SeededCompany, by: string) =>
    sending.api.parts.db.query(
      'UPDATE playground_sends SET created_at = created_at - $2::interval WHERE user_id = $1',
      [who.userId, by],
    );

  test('202: every kind reaches the phone, which shows it, and its events follow', async () => {
    const who = await someone();
    const bodies: Record<string, object> = {
      text: { text: 'hello' },
      image: { media_base64: PIXEL, caption: 'a pixel' },
      audio: { media_base64: silence(), ptt: false },
      document: {
        media_base64: `data:application/pdf;base64,${btoa('%PDF-1.4\n%%EOF')}`,
        file_name: 'a.pdf',
      },
      location: { latitude: -23.5, longitude: -46.6, name: 'Here' },
      contact: { contact_name: 'Ana', contact_phone: '+5511999990002' },
      poll: { question: 'When?', options: ['now', 'later'] },
    };
    const ids: Record<string, string> = {};
    for (const [kind, body] of Object.entries(bodies)) {
      const accepted = await sent(who, { kind, ...body });
      assert.deepEqual(Object.keys(accepted), ['message_id', 'phone', 'request']);
      assert.equal(accepted.phone, phoneOfUser(who.userId));
      assert.match(accepted.request.curl, new RegExp(`/messages/${kind}`));
      ids[kind] = accepted.message_id;
    }
    for (const [kind, id] of Object.entries(ids)) {
      const message = await shown(who, id);
      assert.ok(['delivered', 'read', 'played'].includes(message.status), message.status);
      assert.equal(message.shown.type, kind);
      for (const event of message.events) {
        assert.equal(event.instance_id, PLAYGROUND_INSTANCE_ID);
        assert.equal(event.data.message_ids[0], id);
      }
      assert.equal(message.events[0].type, 'message.sent');
    }
    assert.equal((await shown(who, ids.text!)).shown.text, 'hello');
    const reaction = await sent(who, { kind: 'reaction', message_id: ids.text, emoji: '👍' });
    const reacted = await waitFor(async () => {
      const { body } = await get(who, `/messages/${reaction.message_id}`);
      return body.shown?.reactions.length > 0 && body;
    });
    assert.equal(reacted.shown.text, 'hello');
    assert.equal(reacted.shown.reactions[0].emoji, '👍');
    const answer = await sent(who, { kind: 'text', text: 'and', quoted_id: ids.text });
    assert.ok((await shown(who, answer.message_id)).shown.quoted_id);
    const other = await sent(who, { kind: 'text', text: 'x', to: phoneOfUser(who.userId, 4) });
    assert.equal(other.phone, phoneOfUser(who.userId, 4));
  });

  test('202: nothing of the company is written, and its plan, guard and passive mode do not matter', async () => {
    const { db } = sending.api.parts;
    const who = await someone();
    await db.query('UPDATE companies SET max_instances = 0, storage_mb = 0 WHERE id = $1', [who.companyId]);
    const count = async () =>
      Promise.all(
        OF_COMPANIES.map(async (table) => {
          const { rows } = await db.query(`SELECT * FROM ${table} WHERE company_id = $1`, [who.companyId]);
          return [table, rows];
        }),
      );
    const before = await count();
    // The same text again and again, without an answer.
    for (let n = 0; n < 6; n++) await sent(who, { kind: 'text', text: 'the same' });
    const { message_id } = await sent(who, { kind: 'image', media_base64: PIXEL });
    await shown(who, message_id);
    assert.deepEqual(await count(), before);
    const { rows } = await db.query<{ expires_at: Date | null }>(
      'SELECT expires_at FROM media WHERE instance_id = $1',
      [PLAYGROUND_INSTANCE_ID],
    );
    assert.ok(rows.length > 0 && rows.every(({ expires_at }) => expires_at !== null));
  });

  test('404 MESSAGE_NOT_FOUND: another user’s messages cannot be seen, quoted or reacted to', async () => {
    const who = await someone();
    const colleague = await withRole(sending.api.parts.db, who, 'agent');
    const { message_id } = await sent(who, { kind: 'text', text: 'mine' });
    const hex = message_id.replaceAll('-', '').toUpperCase();
    for (const other of [colleague, await someone()]) {
      refused(await get(other, `/messages/${message_id}`), 404, 'MESSAGE_NOT_FOUND');
      for (const id of [message_id, hex]) {
        refused(
          await send(other, { kind: 'reaction', message_id: id, emoji: '👍' }),
          404,
          'MESSAGE_NOT_FOUND',
        );
        refused(await send(other, { kind: 'text', text: 'a', quoted_id: id }), 404, 'MESSAGE_NOT_FOUND');
      }
    }
    assert.equal((await send(who, { kind: 'reaction', message_id: hex, emoji: '👍' })).status, 202);
    for (const id of ['none', hex, '0198c0de-0000-7000-8000-000000000001'])
      refused(await get(who, `/messages/${id}`), 404, 'MESSAGE_NOT_FOUND');
  });

  test('400: invalid sends are refused and cost nothing', async () => {
    const who = await someone();
    const table: [body: object, code: string][] = [
      [{}, 'MISSING_FIELD'],
      [{ text: 'a' }, 'MISSING_FIELD'],
      [{ kind: 'video', media_base64: PIXEL }, 'PLAYGROUND_UNSUPPORTED_KIND'],
      [{ kind: 'status_text', text: 'a' }, 'PLAYGROUND_UNSUPPORTED_KIND'],
      [{ kind: 'toString', text: 'a' }, 'PLAYGROUND_UNSUPPORTED_KIND'],
      [{ kind: 'text' }, 'MISSING_FIELD'],
      [{ kind: 'text', text: 5 }, 'BAD_REQUEST'],
      [{ kind: 'image' }, 'MISSING_FIELD'],
      [{ kind: 'image', media_url: 'https://a.test', media_base64: PIXEL }, 'BAD_REQUEST'],
      [{ kind: 'location', latitude: 91, longitude: 0 }, 'BAD_REQUEST'],
      [{ kind: 'poll', question: 'When?', options: ['now'] }, 'BAD_REQUEST'],
      [{ kind: 'reaction', emoji: '👍' }, 'MISSING_FIELD'],
      [{ kind: 'text', text: 'a', to: 'nobody' }, 'INVALID_PHONE'],
      [{ kind: 'text', text: 'a', to: '5511999990000' }, 'INVALID_RECIPIENT'],
      [{ kind: 'text', text: 'a', to: phoneOfUser(who.userId + 1) }, 'INVALID_RECIPIENT'],
    ];
    for (const [body, code] of table) refused(await send(who, body), 400, code);
    refused(
      await send(who, { kind: 'image', media_base64: btoa('no picture') }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    );
    assert.equal((await get(who, '')).body.budget.remaining, 50);
    refused(
      await sending.api.call('POST', '/v1/playground/messages', { body: { kind: 'text' } }),
      401,
      'UNAUTHORIZED',
    );
  });

  test('a number with which somebody paired an instance is not taken for a simulated phone', async () => {
    const phones = createSandboxPhones(sending.sandboxUrl.replace('http', 'ws'));
    const instance = await sending.connect();
    const simulated = sending.newPhone();
    assert.equal(await phones.isPaired(instance.phone), true);
    assert.equal(await phones.isPaired(simulated), false);
    await sending.send(instance, '/messages/text', { to: simulated, text: 'comes to life' });
    await waitFor(async () => (await sending.shown(simulated)).length === 1);
    assert.equal(await phones.isPaired(simulated), false);
    // Nobody listens on this port.
    const away = createSandboxPhones('ws://127.0.0.1:9/ws');
    await assert.rejects(away.isPaired(simulated));
    assert.equal(await away.shown(simulated, 'A'), null);
  });

  test('429 PLAYGROUND_RATE_LIMITED: ten in a minute, of thirty that come at once', async () => {
    const who = await someone();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => send(who, { kind: 'text', text: `nth ${n}` })),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    assert.equal(accepted.length, 10);
    for (const answer of answers.filter(({ status }) => status !== 202)) {
      refused(answer, 429, 'PLAYGROUND_RATE_LIMITED');
      const wait = Number(answer.headers.get('retry-after'));
      assert.ok(wait >= 1 && wait <= 60);
    }
    const state = await get(who, '');
    assert.equal(state.body.budget.remaining, 40);
    // Another user of the same company has a budget of their own.
    const colleague = await withRole(sending.api.parts.db, who, 'agent');
    assert.equal((await send(colleague, { kind: 'text', text: 'me too' })).status, 202);
    await age(who, '1 minute');
    assert.equal((await send(who, { kind: 'text', text: 'a minute later' })).status, 202);
  });

  test('429 PLAYGROUND_BUDGET_EXCEEDED: fifty in a day of UTC, shown by GET /v1/playground', async () => {
    const who = await someone();
    const { db } = sending.api.parts;
    await db.query(
      `INSERT INTO playground_sends (id, company_id, user_id, phone, shown_by, created_at)
       SELECT gen_random_uuid(), $1, $2, '9998', gen_random_uuid(), date_trunc('day', now(), 'UTC')
       FROM generate_series(1, 49)`,
      [who.companyId, who.userId],
    );
    assert.equal((await get(who, '')).body.budget.remaining, 1);
    await sent(who, { kind: 'text', text: 'the last one' });
    const answer = await send(who, { kind: 'text', text: 'one more' });
    refused(answer, 429, 'PLAYGROUND_BUDGET_EXCEEDED');
    const { body } = await get(who, '');
    assert.equal(body.enabled, true);
    assert.deepEqual(body.kinds, [
      'text',
      'image',
      'audio',
      'document',
      'location',
      'contact',
      'poll',
      'reaction',
    ]);
    assert.deepEqual([body.budget.limit, body.budget.remaining], [50, 0]);
    assert.equal(Date.parse(body.budget.resets_at) % 86_400_000, 0);
    assert.ok(Number(answer.headers.get('retry-after')) <= 86_400);
    await age(who, '1 day');
    assert.equal((await send(who, { kind: 'text', text: 'the next day' })).status, 202);
  });

  test('503 while the shared instance is not connected; it stays so when an administrator has disconnected it', async () => {
    const who = await someone();
    const { db, bus } = sending.api.parts;
    await sent(who, { kind: 'text', text: 'before' });
    const want = async (desired: string) => {
      await db.query('UPDATE instances SET wanted = $2 WHERE id = $1', [PLAYGROUND_INSTANCE_ID, desired]);
      bus.notify('instance', PLAYGROUND_INSTANCE_ID);
      await waitFor(async () => {
        const { rows } = await db.query<{ state: string }>('SELECT state FROM instances WHERE id = $1', [
          PLAYGROUND_INSTANCE_ID,
        ]);
        return rows[0]!.state === desired.toUpperCase();
      });
    };
    await want('disconnected');
    refused(await send(who, { kind: 'text', text: 'meanwhile' }), 503, 'SERVICE_UNAVAILABLE');
    await want('connected');
    assert.equal((await send(who, { kind: 'text', text: 'again' })).status, 202);
  });

  test('messages are kept for 14 days, and so are their chats', async () => {
    const who = await someone();
    const { db } = sending.api.parts;
    const { message_id } = await sent(who, { kind: 'text', text: 'for a while' });
    await shown(who, message_id);
    const left = async () => {
      const { rows } = await db.query(
        `SELECT 'message' AS what FROM messages WHERE id = $1
         UNION ALL SELECT 'chat' FROM chats WHERE instance_id = $2 AND chat_jid = $3`,
        [message_id, PLAYGROUND_INSTANCE_ID, `${phoneOfUser(who.userId)}@s.whatsapp.net`],
      );
      return rows.map(({ what }) => what);
    };
    await removePlaygroundMessages(db, new Date(Date.now() + 13.9 * 86_400_000));
    assert.deepEqual(await left(), ['message', 'chat']);
    await removePlaygroundMessages(db, new Date(Date.now() + 14.1 * 86_400_000));
    assert.deepEqual(await left(), []);
    assert.equal((await get(who, `/messages/${message_id}`)).status, 404);
  });

  test('the messages of a user are deleted with the user', async () => {
    const who = await someone();
    const member = await withRole(sending.api.parts.db, who, 'agent');
    await sent(member, { kind: 'text', text: 'bye' });
    const removed = await sending.api.call('DELETE', `/v1/users/${member.userId}`, { key: who.apiKey });
    assert.equal(removed.status, 204, removed.text);
    const { rows } = await sending.api.parts.db.query('SELECT 1 FROM playground_sends WHERE user_id = $1', [
      member.userId,
    ]);
    assert.equal(rows.length, 0);
  });
});

describe('the playground when it is off', () => {
  test('answers 403 PLAYGROUND_DISABLED, and GET says that it is off', async () => {
    const sending = await startSending();
    try {
      const { apiKey: key } = sending.company;
      const answer = await sending.api.call('POST', '/v1/playground/messages', {
        key,
        body: { kind: 'text', text: 'a' },
      });
      refused(answer, 403, 'PLAYGROUND_DISABLED');
      const state = await sending.api.call('GET', '/v1/playground', { key });
      assert.equal(state.body.enabled, false);
      const { rows } = await sending.api.parts.db.query('SELECT 1 FROM instances WHERE id = $1', [
        PLAYGROUND_INSTANCE_ID,
      ]);
      assert.equal(rows.length, 0);
    } finally {
      await sending.close();
    }
  });
});
