import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDocumentGuard } from '../support/document-guard.ts';

const ID = '0198c0de-0000-7000-8000-000000000001';
const ANSWERED = { status: 'queued', message_id: ID, task_id: ID, idempotency_key: 'k' };
const SEND = `/v1/instances/${ID}/messages/text`;

/** Wrong answers of a server, with the message that reports each. */
const WRONG: [string, number, unknown, RegExp][] = [
  ['a status that is not documented', 418, {}, /messages.sendText answered 418, which is not documented/],
  ['a field that is missing', 202, { ...ANSWERED, message_id: undefined }, /message_id/],
  ['a field of another type', 202, { ...ANSWERED, task_id: 1 }, /task_id must be string/],
  ['a word that is none', 202, { ...ANSWERED, status: 'gone' }, /status must be equal to one of/],
  ['an id of another form', 202, { ...ANSWERED, message_id: 'x' }, /message_id must match format "uuid"/],
  [
    'an error code that the operation does not have',
    404,
    { error_code: 'PLAN_NOT_FOUND', message: '', trace_id: '', error: '' },
    /error_code must be equal to one of/,
  ],
];

describe('an answer in a test', () => {
  const guard = createDocumentGuard('messaging');
  const answer = (status: number, body: unknown, type = 'application/json; charset=utf-8') => ({
    status,
    headers: new Headers({ 'content-type': type }),
    body: JSON.parse(JSON.stringify(body)),
  });

  for (const [what, status, body, said] of WRONG)
    it(`fails it: ${what}`, () => {
      assert.throws(() => guard('POST', SEND, answer(status, body)), said);
    });

  it('fails it: a type of content that is not documented', () => {
    assert.throws(
      () => guard('POST', SEND, answer(202, ANSWERED, 'text/html')),
      /as text\/html, which is not/,
    );
  });

  it('passes when it matches the document, and when no document describes it', () => {
    guard('POST', `${SEND}?a=b`, answer(202, ANSWERED));
    guard('GET', '/nowhere', answer(404, {}));
  });
});
