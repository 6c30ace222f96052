import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, signatureOf } from '@posthorn/network/sandbox/graph/post.ts';
import { startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { type Random, randomOf } from '../support/whatsapp/hostile-frames.ts';

const SEED = Number(process.env.POSTHORN_SEED ?? Date.now() % 2 ** 32);
const ROUNDS = sized(20, 60, 1_000);
const WEBHOOKS = 10;

/** Values to put in place of Meta's. */
const JUNK: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  '',
  '0',
  '9'.repeat(40),
  'A\0B',
  '\ud800',
  '__proto__',
  'x'.repeat(4_000),
  [],
  {},
  [[]],
  [null],
  { id: null },
  JSON.parse('{"__proto__":{"id":"x"},"constructor":1}'),
];

test(`${ROUNDS * WEBHOOKS} signed webhooks with values at random: each is taken, and the text behind them arrives, once and in order (seed ${SEED})`, async (t) => {
  const random = randomOf(SEED);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const cloud = await startCloudSending();
  t.after(() => cloud.close());
  const instance = await cloud.connect();
  const { number } = instance;
  const url = `${cloud.api.url}/v1/webhooks/whatsapp-cloud/${instance.id}`;
  const post = async (changes: Parameters<typeof bodyOf>[1]) => {
    const body = bodyOf(number, changes);
    const headers = {
      'content-type': 'application/json',
      'x-hub-signature-256': signatureOf(number.appSecret, body),
    };
    const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
    assert.equal(response.status, 200, await response.text());
  };
  const metadata = { phone_number_id: number.id };
  const written: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let count = 0; count < WEBHOOKS; count += 1) {
      const { field, ...value } = pick(valuesOf(`wamid.R${round}.${count}`));
      await post([{ field, value: hurt({ metadata, ...value }, random) as Record<string, unknown> }]);
    }
    const body = `behind round ${round}`;
    const message = { id: `wamid.T${round}`, from: '5531900000002', type: 'text', text: { body } };
    await post([{ field: 'messages', value: { metadata, messages: [message] } }]);
    written.push(body);
    if (round % 10 === 9) await cloud.drained();
  }
  await cloud.drained();
  const told = async () =>
    (await cloud.events(instance.id, 'text.received'))
      .map(({ data }) => data.content.text)
      .filter((text) => written.includes(text));
  await waitFor(async () => (await told()).length >= written.length);
  assert.deepEqual(await told(), written);
  for (const path of ['/messages?limit=200', '/chats', '/contacts', '/templates'])
    assert.equal((await cloud.call(instance.id, 'GET', path)).status, 200, path);
});

/** One of each kind that Meta posts. */
function valuesOf(id: string): { field: string; [name: string]: unknown }[] {
  const from = '5531900000003';
  const about = { id, from, from_user_id: 'BR.13491208655302741918', timestamp: '1790000000' };
  const contacts = [{ wa_id: from, user_id: about.from_user_id, profile: { name: 'Ann' } }];
  const context = { id: 'wamid.OTHER', from, forwarded: true };
  const file = { id: '13', mime_type: 'image/jpeg', sha256: 'x', caption: 'Look', filename: 'a.jpg' };
  const kinds: Record<string, unknown> = {
    text: { body: 'Hello' },
    image: file,
    document: file,
    audio: { ...file, voice: true },
    sticker: { ...file, animated: true },
    location: { latitude: -19.9, longitude: -43.9, name: 'Here', address: 'Street' },
    contacts: [{ name: { formatted_name: 'Bob' }, phones: [{ phone: '+55 31', wa_id: from }] }],
    reaction: { message_id: 'wamid.OTHER', emoji: '👍' },
    interactive: { type: 'button_reply', button_reply: { id: 'a', title: 'A' } },
    button: { payload: 'a', text: 'A' },
    order: { catalog_id: '1', text: 'x', product_items: [{ quantity: 1 }] },
    system: { type: 'user_changed_number', wa_id: '5531900000004', body: 'changed' },
    edit: { original_message_id: 'wamid.OTHER', message: { text: { body: 'New' } } },
    revoke: { original_message_id: 'wamid.OTHER' },
    unsupported: {},
  };
  const template = { message_template_id: 1, message_template_name: 'a', message_template_language: 'pt_BR' };
  return [
    ...Object.entries(kinds).map(([type, content]) => ({
      ...{ field: 'messages', contacts },
      messages: [{ ...about, type, context, [type]: content }],
    })),
    {
      field: 'smb_message_echoes',
      message_echoes: [{ id, to: from, timestamp: '1790000000', type: 'text', text: { body: 'Typed' } }],
    },
    ...['sent', 'delivered', 'read', 'failed'].map((status) => ({
      field: 'messages',
      statuses: [{ id, status, recipient_id: from, timestamp: 1_790_000_000, errors: [{ code: 131_026 }] }],
    })),
    { field: 'message_template_status_update', event: 'REJECTED', reason: 'SCAM', ...template },
    { field: 'message_template_quality_update', new_quality_score: 'RED', ...template },
    { field: 'template_category_update', new_category: 'MARKETING', ...template },
    { field: 'phone_number_quality_update', event: 'FLAGGED', current_limit: 'TIER_1K' },
  ];
}

/** A copy with some of its values replaced, left out or repeated. */
function hurt(value: unknown, random: Random): unknown {
  if (random() < 0.05) return JUNK[Math.floor(random() * JUNK.length)];
  if (Array.isArray(value)) {
    const items = value.map((item) => hurt(item, random));
    return random() < 0.2 ? [...items, JUNK[Math.floor(random() * JUNK.length)], ...items] : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(() => random() > 0.05);
  return Object.fromEntries(kept.map(([name, each]) => [name, hurt(each, random)]));
}
