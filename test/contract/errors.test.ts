import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { type ErrorSpec, errorCatalogue, errorEnvelope, isErrorCode } from '@posthorn/contract/errors.ts';
import { SPEC_CODES, SPEC_CODES_WITHOUT_STATUS } from './spec-codes.ts';

const catalogue: Record<string, ErrorSpec> = errorCatalogue;

describe('the error catalogue', () => {
  it('gives every code of the spec the status that the spec gives it', () => {
    for (const [code, status] of Object.entries(SPEC_CODES))
      assert.equal(catalogue[code]?.status, status, code);
  });

  it('has every code that the spec names without a status', () => {
    assert.deepEqual(
      SPEC_CODES_WITHOUT_STATUS.filter((code) => !isErrorCode(code)),
      [],
    );
  });

  it('adds no code of its own but those for bodies that are too large or too slow', () => {
    const known = new Set([...Object.keys(SPEC_CODES), ...SPEC_CODES_WITHOUT_STATUS]);
    assert.deepEqual(
      Object.keys(catalogue).filter((code) => !known.has(code)),
      ['PAYLOAD_TOO_LARGE', 'REQUEST_TIMEOUT'],
    );
  });

  it('names codes in SCREAMING_SNAKE_CASE and always has a public message', () => {
    for (const [code, { message }] of Object.entries(catalogue)) {
      assert.match(code, /^[A-Z]+(_[A-Z]+)*$/);
      assert.ok(message.length > 0, code);
    }
  });

  it('knows both statuses of the codes that differ by area', () => {
    assert.deepEqual(errorCatalogue.PLAN_NOT_FOUND.alsoStatuses, [400]);
    assert.deepEqual(errorCatalogue.ADDON_NOT_FOUND.alsoStatuses, [400]);
    assert.deepEqual(errorCatalogue.ACCOUNT_DELETION_FAILED.alsoStatuses, [500]);
  });

  it('keeps the extra fields of guard codes in the envelope', () => {
    const body = { error_code: 'X', message: 'm', trace_id: 't', error: 'm', remote_jid: 'j', count: 3 };
    assert.deepEqual(errorEnvelope.parse(body), body);
  });
});

describe('an API error', () => {
  it('takes status and message from the catalogue', () => {
    const error = apiError('INSTANCE_NOT_FOUND');
    assert.ok(error instanceof ApiError);
    assert.deepEqual(
      { code: error.code, status: error.status, message: error.publicMessage },
      { code: 'INSTANCE_NOT_FOUND', status: 404, message: 'instance not found' },
    );
  });

  it('keeps the internal cause apart from the public message', () => {
    const cause = new Error('connection to 10.0.0.1 refused');
    const error = apiError('PLAN_NOT_FOUND', { status: 400, cause, headers: { 'retry-after': '5' } });
    assert.equal(error.status, 400);
    assert.equal(error.cause, cause);
    assert.equal(error.publicMessage, errorCatalogue.PLAN_NOT_FOUND.message);
    assert.deepEqual(error.headers, { 'retry-after': '5' });
  });
});
