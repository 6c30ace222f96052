import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { idempotencyKey } from '@posthorn/contract/messaging/message.ts';
import { validBodies } from '../server/fixtures.ts';
import { inputSchemas } from '../support/walk-schema.ts';

const x = (length: number) => 'x'.repeat(length);
const foxes = (length: number) => '🦊'.repeat(length);
const ofItems = (item: (at: number) => unknown) => (length: number) =>
  Array.from({ length }, (_, at) => item(at));

/** Route, field, its maximum length, and a function that makes a value of a given length. */
const LIMITS: [string, string, number, (length: number) => unknown][] = [
  ['messages.sendText', 'text', 65_536, x],
  ['messages.edit', 'content', 65_536, x],
  ['messages.sendImage', 'caption', 65_536, x],
  ['auth.register', 'company_name', 255, x],
  ['auth.register', 'owner_name', 255, x],
  ['users.create', 'name', 255, x],
  ['users.create', 'name', 255, foxes],
  ['auth.register', 'owner_name', 255, foxes],
  ['auth.register', 'password', 256, foxes],
  ['notes.create', 'note', 8192, foxes],
  ['messages.sendLocation', 'name', 1024, x],
  ['messages.sendLocation', 'address', 1024, x],
  ['messages.sendLinkPreview', 'title', 1024, x],
  ['messages.sendPoll', 'question', 1024, x],
  // 254 characters: the labels of a domain have 63 at most.
  [
    'auth.register',
    'owner_email',
    254,
    (length) => `${x(60)}@${x(60)}.${x(60)}.${x(60)}.${x(length - 249)}.test`,
  ],
  ['webhooks.create', 'url', 2048, (length) => `https://hooks.example.com/${x(length - 26)}`],
  ['messages.sendImage', 'media_url', 2048, (length) => `https://media.example.com/${x(length - 26)}`],
  ['messages.sendReaction', 'message_id', 128, (length) => 'A'.repeat(length)],
  ['messages.sendText', 'quoted_id', 128, (length) => 'A'.repeat(length)],
  ['auth.register', 'password', 256, x],
  ['messages.sendText', 'mentions', 1024, ofItems((at) => `${5_511_900_000_000 + at}@s.whatsapp.net`)],
  [
    'messages.sendContact',
    'contacts',
    50,
    ofItems((at) => ({ contact_name: 'Ana', contact_phone: `+${5_511_900_000_000 + at}` })),
  ],
  ['messages.sendPoll', 'options', 12, ofItems((at) => `option ${at}`)],
  ['messages.sendTemplate', 'buttons', 3, ofItems((at) => ({ text: 'Yes', id: `button ${at}` }))],
];

const schemas = inputSchemas();

/** Only the field, in a body that is valid otherwise. */
function bodyWith(route: string, field: string, value: unknown): Record<string, unknown> {
  const { media_id, media_url, ...rest } = validBodies[route]!;
  const source = media_id === undefined ? { media_url } : { media_id };
  return { ...rest, ...(field === 'media_url' || (!media_id && !media_url) ? {} : source), [field]: value };
}

describe('a field of a request takes exactly its promised length', () => {
  for (const [route, field, max, make] of LIMITS)
    test(`${route} ${field}: ${max}${make === foxes ? ' emojis' : ''}, and not one more`, () => {
      const { schema } = schemas.find(({ name }) => name === `${route} body`)!;
      const fits = schema.safeParse(bodyWith(route, field, make(max)));
      assert.equal(fits.success, true, JSON.stringify(fits.error?.issues));
      const long = schema.safeParse(bodyWith(route, field, make(max + 1)));
      assert.equal(long.success, false);
      assert.deepEqual([...new Set(long.error!.issues.map(({ path }) => path[0]))], [field]);
    });

  test('an idempotency key: 255 characters, and not one more', () => {
    assert.equal(idempotencyKey.safeParse(x(255)).success, true);
    assert.equal(idempotencyKey.safeParse(x(256)).success, false);
  });
});
