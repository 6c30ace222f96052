import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let api: TestMessaging;
let company: SeededCompany;
let instanceId: string;

before(async () => {
  api = await startTestMessaging();
  company = await seedCompany(api.parts.db);
  instanceId = await seedInstance(api.parts.db, company.companyId);
});
after(() => api.close());

const to = '5511988880000';
const ID = '00000000-0000-4000-8000-000000000000';
const INCOMPLETE = 'valid contact_name and contact_phone (or a vcard) are required';
const BAD_VCARD = 'vcard must be a vCard 3.0 string under 8 KB';
const CARD = { contact_name: 'Bia', contact_phone: '+5511999990003' };
const ONE_SOURCE = 'provide only one of media_url, media_id, media_base64';
const poll = { to, question: 'q', options: ['a', 'b'] };
const buttons = [{ text: 'x', id: 'x' }];

/** Path, body, code; with a message where one is promised (ERR-7). All are 400. */
const CASES: [string, object, string, string?][] = [
  ['contact', { to }, 'BAD_REQUEST', INCOMPLETE],
  ['contact', { to, contact_name: 'Bia' }, 'BAD_REQUEST', INCOMPLETE],
  ['contact', { to, contact_phone: '+5511999990003' }, 'BAD_REQUEST', INCOMPLETE],
  ['contact', { to, contact_name: 'Bia', contact_phone: '5511999990003' }, 'BAD_REQUEST', INCOMPLETE],
  ['contact', { to, vcard: 'BEGIN:VCARD' }, 'BAD_REQUEST', BAD_VCARD],
  ['contact', { to, vcard: `BEGIN:VCARD${'x'.repeat(8192)}END:VCARD` }, 'BAD_REQUEST', BAD_VCARD],
  // The contacts behind a broken vcard do not make up for it.
  ['contact', { to, ...CARD, vcard: 'no card' }, 'BAD_REQUEST', BAD_VCARD],
  [
    'contact',
    { to, contacts: Array.from({ length: 51 }, () => CARD) },
    'BAD_REQUEST',
    'too many contacts (at most 50 per send)',
  ],
  ['contact', { to, contacts: [CARD, { vcard: 'x' }] }, 'BAD_REQUEST', `contacts[1]: ${BAD_VCARD}`],
  ['contact', { to, contacts: [{ contact_name: 'x' }] }, 'BAD_REQUEST', `contacts[0]: ${INCOMPLETE}`],
  ['contact', CARD, 'MISSING_FIELD'],
  ['text', { to }, 'MISSING_FIELD'],
  ['text', { to, text: '' }, 'MISSING_FIELD'],
  ['text', { text: 'x' }, 'MISSING_FIELD'],
  ['text', { to: '12', text: 'x' }, 'INVALID_PHONE'],
  ['text', { to: 'a@b', text: 'x' }, 'INVALID_RECIPIENT'],
  ['text', { to, text: 'x', mentions: ['5511999990001'] }, 'BAD_REQUEST'],
  ['link-preview', { to, text: 'no link', url: 'https://a.test' }, 'BAD_REQUEST'],
  ['link-preview', { to, text: 'ftp://a.test', url: 'ftp://a.test' }, 'BAD_REQUEST'],
  ['location', { to, latitude: 91, longitude: 0 }, 'BAD_REQUEST'],
  ['location', { to, latitude: '1', longitude: 0 }, 'BAD_REQUEST'],
  ['location', { to, latitude: 1 }, 'MISSING_FIELD'],
  ['poll', { ...poll, options: ['a'] }, 'BAD_REQUEST'],
  ['poll', { ...poll, options: ['a', 'a'] }, 'BAD_REQUEST'],
  ['poll', { ...poll, max_selections: 3 }, 'BAD_REQUEST'],
  ['poll', { to, options: ['a', 'b'] }, 'MISSING_FIELD'],
  ['template', { to, body_text: 'x', buttons: [] }, 'BAD_REQUEST'],
  ['template', { to, body_text: 'x', buttons: Array(4).fill(buttons[0]) }, 'BAD_REQUEST'],
  ['template', { to, body_text: 'x', buttons: [{ text: 'x' }] }, 'MISSING_FIELD'],
  ['template', { to, buttons }, 'MISSING_FIELD'],
  ['event', { to, name: 'x', start_at: 'soon' }, 'BAD_REQUEST'],
  [
    'event',
    { to, name: 'x', start_at: '2030-01-02T00:00:00Z', end_at: '2030-01-01T00:00:00Z' },
    'BAD_REQUEST',
  ],
  ['reaction', { to, message_id: 'A1' }, 'MISSING_FIELD'],
  ['forward', { to, message_id: 'A1' }, 'MISSING_FIELD'],
  ['forward', { to, forward_chat_id: 'x', message_id: 'A1' }, 'INVALID_PHONE'],
  ...['image', 'video', 'audio', 'document', 'sticker', 'ptv', 'gif'].flatMap(
    (type): [string, object, string, string?][] => [
      [type, { to, media_id: ID, media_url: 'https://a.test/x' }, 'BAD_REQUEST', ONE_SOURCE],
      [type, { to, media_id: ID, media_base64: 'AAAA' }, 'BAD_REQUEST', ONE_SOURCE],
      [type, { to }, 'MISSING_FIELD'],
      [type, { media_id: ID }, 'MISSING_FIELD'],
      [type, { to, media_id: 'x' }, 'BAD_REQUEST'],
    ],
  ),
  ['audio', { to, media_id: ID, ptt: 'yes' }, 'BAD_REQUEST'],
  ['status/image', { media_id: ID, media_url: 'https://a.test/x' }, 'BAD_REQUEST', ONE_SOURCE],
];

for (const [path, body, code, message] of CASES) {
  test(`${path} refuses ${JSON.stringify(body).slice(0, 90)} as ${message ?? code}`, async () => {
    const answer = await api.call('POST', `/v1/instances/${instanceId}/messages/${path}`, {
      key: company.apiKey,
      headers: { 'idempotency-key': randomUUID() },
      body,
    });
    assert.deepEqual([answer.status, answer.body.error_code], [400, code], answer.text);
    if (message) assert.equal(answer.body.message, message);
  });
}

test('a caption in another encoding than UTF-8 is refused, before and behind the bytes of a picture', async () => {
  const caption = '"caption":"Olá"';
  const picture = '"media_base64":"AAAA"';
  for (const fields of [
    [caption, picture],
    [picture, caption],
  ]) {
    const body = Buffer.from(`{"to":"${to}",${fields.join()}}`, 'latin1');
    const answer = await fetch(`${api.url}/v1/instances/${instanceId}/messages/document`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': company.apiKey,
        'idempotency-key': randomUUID(),
      },
      body,
    });
    const { error_code, message } = (await answer.json()) as Record<string, unknown>;
    assert.deepEqual([answer.status, error_code, message], [400, 'BAD_REQUEST', 'the body must be UTF-8']);
  }
});

test('none of these was queued', async () => {
  const { rows } = await api.parts.db.query('SELECT 1 FROM outbox');
  assert.equal(rows.length, 0);
});

test('an unknown media_id is 404', async () => {
  const answer = await api.call('POST', `/v1/instances/${instanceId}/messages/image`, {
    key: company.apiKey,
    headers: { 'idempotency-key': randomUUID() },
    body: { to, media_id: randomUUID() },
  });
  assert.deepEqual([answer.status, answer.body.error_code], [404, 'NOT_FOUND']);
});
