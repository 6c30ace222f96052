import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '@posthorn/contract/api-error.ts';
import type { ErrorCode } from '@posthorn/contract/errors.ts';
import { loginBody, registerBody, session } from '@posthorn/contract/messaging/auth.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import {
  createInstanceBody,
  pairingCodeBody,
  updateSettingsBody,
} from '@posthorn/contract/messaging/instances.ts';
import { idempotencyKey } from '@posthorn/contract/messaging/message.ts';
import { sendTextBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { createWebhookBody, updateWebhookBody } from '@posthorn/contract/messaging/webhooks.ts';
import { codeOfIssues, parseInput } from '@posthorn/contract/validation-error.ts';

const text = { to: '+55 11 99999-0000', text: 'hi' };
const account = {
  company_name: 'Café & Söhne 東京',
  owner_email: 'Ana@Example.com',
  owner_name: 'Ana',
  password: 'correct horse',
};
const hook = { url: 'https://example.com/hook' };

type Schema = Parameters<typeof parseInput>[0];

const REFUSED: [string, Schema, unknown, ErrorCode, string][] = [
  ['an absent body', sendTextBody, undefined, 'MISSING_FIELD', 'to: is required'],
  ['a body that is no object', sendTextBody, [], 'BAD_REQUEST', 'body: expected object, received array'],
  ['a null body', sendTextBody, null, 'BAD_REQUEST', 'body: expected object, received null'],
  ['a missing field', sendTextBody, { to: text.to }, 'MISSING_FIELD', 'text: is required'],
  ['an empty field', sendTextBody, { ...text, text: '' }, 'MISSING_FIELD', 'text: is required'],
  [
    'a wrong type',
    sendTextBody,
    { ...text, text: 5 },
    'BAD_REQUEST',
    'text: expected string, received number',
  ],
  [
    'a null field',
    sendTextBody,
    { ...text, text: null },
    'BAD_REQUEST',
    'text: expected string, received null',
  ],
  ['an empty recipient', sendTextBody, { ...text, to: '' }, 'MISSING_FIELD', 'to: is required'],
  [
    'a recipient of a wrong type',
    sendTextBody,
    { ...text, to: 5511 },
    'BAD_REQUEST',
    'to: expected string, received number',
  ],
  ['a bad phone', sendTextBody, { ...text, to: '123' }, 'INVALID_PHONE', 'to: is not a valid phone number'],
  [
    'a bad JID',
    sendTextBody,
    { ...text, to: 'ana@example.com' },
    'INVALID_RECIPIENT',
    'to: is not a valid phone number, individual JID or group JID',
  ],
  ['a missing field before a bad one', sendTextBody, { to: '123' }, 'MISSING_FIELD', 'text: is required'],
  [
    'a bad mention',
    sendTextBody,
    { ...text, mentions: ['5511999990000@s.whatsapp.net', 'x'] },
    'BAD_REQUEST',
    'mentions[1]: must be an individual JID',
  ],
  [
    'mentions of a wrong type',
    sendTextBody,
    { ...text, mentions: 'x' },
    'BAD_REQUEST',
    'mentions: expected array, received string',
  ],
  [
    'an empty quoted id',
    sendTextBody,
    { ...text, quoted_id: '' },
    'BAD_REQUEST',
    'quoted_id: must be a message UUID or a network id',
  ],
  [
    'a short instance name',
    createInstanceBody,
    { name: 'ab' },
    'INVALID_INSTANCE_NAME',
    'name: must have 3 to 80 characters',
  ],
  [
    'a long instance name',
    createInstanceBody,
    { name: 'x'.repeat(81) },
    'INVALID_INSTANCE_NAME',
    'name: must have 3 to 80 characters',
  ],
  [
    'an instance name of blanks',
    createInstanceBody,
    { name: '     ' },
    'INVALID_INSTANCE_NAME',
    'name: must have 3 to 80 characters',
  ],
  ['no instance name', createInstanceBody, {}, 'MISSING_FIELD', 'name: is required'],
  [
    'a JID where a phone is due',
    pairingCodeBody,
    { phone: '5511999990000@s.whatsapp.net' },
    'INVALID_PHONE',
    'phone: is not a valid phone number',
  ],
  [
    'a setting that is no boolean',
    updateSettingsBody,
    { humanize_enabled: 'false' },
    'BAD_REQUEST',
    'humanize_enabled: expected boolean, received string',
  ],
  [
    'a webhook url of another scheme',
    createWebhookBody,
    { url: 'ftp://example.com' },
    'WEBHOOK_URL_INVALID',
    'url: must be an http or https URL of at most 2048 characters',
  ],
  [
    'a webhook url that is none',
    updateWebhookBody,
    { url: 'nonsense' },
    'WEBHOOK_URL_INVALID',
    'url: must be an http or https URL of at most 2048 characters',
  ],
  ['no webhook url', createWebhookBody, {}, 'MISSING_FIELD', 'url: is required'],
  [
    'an event that does not exist',
    createWebhookBody,
    { ...hook, events: ['*', 'mesage.*'] },
    'BAD_REQUEST',
    'events[1]: matches no event',
  ],
  [
    'a header we set ourselves',
    createWebhookBody,
    { ...hook, headers: { Host: 'x' } },
    'BAD_REQUEST',
    'headers.Host: is a header that the service sets itself',
  ],
  [
    'a header that breaks the line',
    createWebhookBody,
    { ...hook, headers: { A: 'x\r\nB: y' } },
    'BAD_REQUEST',
    'headers.A: must be printable ASCII',
  ],
  [
    'a bad e-mail',
    registerBody,
    { ...account, owner_email: 'ana' },
    'BAD_REQUEST',
    'owner_email: Invalid email address',
  ],
  [
    'a short password',
    registerBody,
    { ...account, password: 'elevenchars' },
    'BAD_REQUEST',
    'password: must have at least 12 characters',
  ],
  [
    'a company name with bad characters',
    registerBody,
    { ...account, company_name: 'A<b>' },
    'BAD_REQUEST',
    'company_name: has characters that are not allowed',
  ],
  [
    'a company name of blanks',
    registerBody,
    { ...account, company_name: '  ' },
    'MISSING_FIELD',
    'company_name: is required',
  ],
];

describe('a refused request', () => {
  for (const [what, schema, input, code, message] of REFUSED) {
    it(`answers ${code} for ${what}`, () => {
      assert.throws(
        () => parseInput(schema, input, 'body'),
        (error) => {
          assert.ok(error instanceof ApiError);
          assert.deepEqual({ code: error.code, message: error.publicMessage }, { code, message });
          return true;
        },
      );
    });
  }

  it('answers BAD_REQUEST for an empty event_id of event-deliveries, as it answers for a missing one', () => {
    const { query } = messagingContract.webhooks.eventDeliveries;
    for (const input of [{}, { event_id: '' }])
      assert.throws(
        () => parseInput(query, input, 'query'),
        (error) => error instanceof ApiError && error.code === 'BAD_REQUEST',
      );
  });

  it('distinguishes a missing value from a wrong one without the input too', () => {
    const schema = loginBody.pick({ email: true });
    const missing = schema.safeParse({});
    const wrong = schema.safeParse({ email: 1 });
    assert.deepEqual(codeOfIssues(missing.error?.issues ?? [], 'body'), {
      code: 'MISSING_FIELD',
      message: 'email: is required',
    });
    assert.equal(codeOfIssues(wrong.error?.issues ?? [], 'body').code, 'BAD_REQUEST');
  });

  it('calls a missing enum missing and a wrong one wrong', () => {
    const schema = session.pick({ role: true });
    const codeFor = (input: unknown) =>
      codeOfIssues(schema.safeParse(input).error?.issues ?? [], 'body', input).code;
    assert.equal(codeFor({}), 'MISSING_FIELD');
    assert.equal(codeFor({ role: 'king' }), 'BAD_REQUEST');
  });

  it('never repeats the input: no password, number or text in a message', () => {
    const secret = 'hunter2secret';
    for (const input of [
      { ...account, password: [secret] },
      { ...account, owner_email: secret },
      { ...account, company_name: `<${secret}>` },
    ]) {
      const issues = registerBody.safeParse(input).error?.issues ?? [];
      assert.ok(!codeOfIssues(issues, 'body', input).message.includes(secret));
    }
  });
});

describe('an accepted request', () => {
  it('drops unknown fields', () => {
    assert.deepEqual(parseInput(sendTextBody, { ...text, colour: 'red' }, 'body'), text);
  });

  it('takes phones, individual and group JIDs as recipients', () => {
    for (const to of [
      '5511999990000',
      '+55 (11) 99999-0000',
      '5511999990000@s.whatsapp.net',
      '120363041234567890@g.us',
    ])
      assert.equal(parseInput(sendTextBody, { ...text, to }, 'body').to, to);
  });

  it('trims names and puts e-mails in lower case', () => {
    const parsed = parseInput(
      registerBody,
      { ...account, owner_name: '  Ana ', owner_email: ' Ana@Example.com ' },
      'body',
    );
    assert.deepEqual(parsed, { ...account, owner_email: 'ana@example.com' });
  });

  it('gives a webhook all events of all instances unless its body names others', () => {
    assert.deepEqual(parseInput(createWebhookBody, hook, 'body'), {
      ...hook,
      events: ['*'],
      instance_id: null,
      headers: {},
      enabled: true,
    });
    assert.deepEqual(parseInput(updateWebhookBody, {}, 'body'), {});
  });

  it('caps a limit above the highest one and takes patterns separated by commas', () => {
    const { query } = messagingContract.events.list;
    const parsed = parseInput(query, { limit: '9999', types: 'message.*, *.received' }, 'query');
    assert.deepEqual(parsed, { limit: 200, types: ['message.*', '*.received'] });
    assert.deepEqual(parseInput(query, { types: ['message.sent', 'label.*'] }, 'query').types, [
      'message.sent',
      'label.*',
    ]);
  });

  it('counts the characters of an instance name as people see them', () => {
    assert.equal(parseInput(createInstanceBody, { name: '🦊'.repeat(80) }, 'body').name, '🦊'.repeat(80));
  });

  it('bounds an idempotency key to 255 printable characters', () => {
    assert.ok(idempotencyKey.safeParse('order 7/2').success);
    for (const key of ['', ' x', 'x'.repeat(256), 'é', 'a\nb'])
      assert.ok(!idempotencyKey.safeParse(key).success, key);
  });
});
