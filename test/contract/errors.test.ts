import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { billingInternal } from '@posthorn/contract/billing/internal.ts';
import {
  type ErrorCode,
  type ErrorSpec,
  errorCatalogue,
  errorEnvelope,
  isErrorCode,
} from '@posthorn/contract/errors.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { errorsOf } from '@posthorn/contract/route-meta.ts';
import { SPEC_CODES, SPEC_CODES_WITHOUT_STATUS } from './spec-codes.ts';

const catalogue: Record<string, ErrorSpec> = errorCatalogue;

describe('the error catalogue', () => {
  it('gives every code the status that is promised', () => {
    for (const [code, status] of Object.entries(SPEC_CODES))
      assert.equal(catalogue[code]?.status, status, code);
  });

  it('has every code that is promised without a status', () => {
    assert.deepEqual(
      SPEC_CODES_WITHOUT_STATUS.filter((code) => !isErrorCode(code)),
      [],
    );
  });

  it('adds no code of its own but those for bodies that are too large or too slow, and for official numbers', () => {
    const known = new Set([...Object.keys(SPEC_CODES), ...SPEC_CODES_WITHOUT_STATUS]);
    assert.deepEqual(
      Object.keys(catalogue).filter((code) => !known.has(code)),
      ['PAYLOAD_TOO_LARGE', 'REQUEST_TIMEOUT', 'CREDENTIALS_REFUSED', 'CONVERSATION_WINDOW_CLOSED'],
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

  it('names X-Force-Send in the refusals that this header passes, and in no other', () => {
    const named = Object.keys(catalogue).filter((code) =>
      catalogue[code]!.message.includes('X-Force-Send: true'),
    );
    const passed = Object.keys(catalogue).filter((code) =>
      /^BLOCKED_|^PASSIVE_MODE_|^CONVERSATION_WINDOW_/.test(code),
    );
    assert.deepEqual(named, passed);
  });

  it('keeps the extra fields of guard codes in the envelope', () => {
    const body = { error_code: 'X', message: 'm', trace_id: 't', error: 'm', remote_jid: 'j', count: 3 };
    assert.deepEqual(errorEnvelope.parse(body), body);
  });
});

describe('the catalogue and the code, both ways', () => {
  const contracts = [messagingContract, billingContract, billingInternal];
  const documented = new Set<string>(
    contracts.flatMap((contract) => listRoutes(contract).flatMap(({ route }) => errorsOf(route))),
  );
  const thrown = codesInSource();

  it('every code is thrown somewhere, those that nothing answers yet aside', () => {
    const missing = Object.keys(catalogue).filter((code) => !thrown.has(code) && !catalogue[code]!.planned);
    assert.deepEqual(missing, []);
  });

  it('every code that is thrown is documented by a route', () => {
    const silent = Object.keys(catalogue).filter((code) => thrown.has(code) && !documented.has(code));
    assert.deepEqual(silent, []);
  });

  it('a code that is marked as planned is neither thrown nor documented, and has a reason', () => {
    const planned = Object.keys(catalogue).filter((code) => catalogue[code]!.planned !== undefined);
    for (const code of planned)
      assert.ok(!thrown.has(code) && !documented.has(code), `${code} is no plan any more`);
    for (const code of planned) assert.ok(catalogue[code]!.planned!.length > 10, code);
    assert.ok(planned.length < 20);
  });
});

/**
 * The codes that the code names outside of comments: anywhere in the code that answers requests, and in the contract
 * where a check or a missing id has its own code.
 */
function codesInSource(): Set<string> {
  const root = path.join(import.meta.dirname, '../..');
  const own = (pattern: string) =>
    globSync(pattern, { cwd: root, exclude: (name) => name.includes('node_modules') });
  const codes = new Set<string>();
  const collect = (files: string[], pattern: RegExp) => {
    for (const file of files) {
      const source = readFileSync(path.join(root, file), 'utf8')
        .replace(/\/\*[\s\S]*?\*\//g, '')
        .replace(/^\s*\/\/.*$/gm, '');
      for (const [, code] of source.matchAll(pattern)) codes.add(code!);
    }
  };
  collect(own('{core,server,worker}/**/*.ts'), /'([A-Z]+(?:_[A-Z]+)*)'/g);
  const ownCodes = /(?:(?:code|notFound|missing|invalid|error): |failsWith\()'([A-Z]+(?:_[A-Z]+)*)'/g;
  collect(own('contract/**/*.ts'), ownCodes);
  return codes;
}

describe('an API error', () => {
  it('takes status and message from the catalogue', () => {
    const error = apiError('INSTANCE_NOT_FOUND');
    assert.ok(error instanceof ApiError);
    assert.deepEqual(
      { code: error.code, status: error.status, message: error.publicMessage },
      { code: 'INSTANCE_NOT_FOUND', status: 404, message: 'instance not found' },
    );
  });

  it('names the time to come again in every 503', () => {
    for (const [code, { status }] of Object.entries(catalogue)) {
      const error = apiError(code as ErrorCode);
      if (status === 503) assert.ok(Number(error.headers?.['retry-after']) > 0, code);
      else assert.equal(error.headers, undefined, code);
    }
    const told = apiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '60', 'x-more': 'y' } });
    assert.deepEqual(told.headers, { 'retry-after': '60', 'x-more': 'y' });
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
