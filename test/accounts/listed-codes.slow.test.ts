import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { newEmail, newOwner, PASSWORD } from './support/people.ts';

interface Row {
  method?: 'PATCH' | 'DELETE';
  /** A body of the right shape. */
  body: Record<string, string>;
  optional?: readonly string[];
  /** The codes of bodies of a wrong shape that the reference lists for the route, copied from there. */
  listed: readonly string[];
  auth?: true;
}

/** Routes of accounts and sessions that take a body. */
const ROWS: Record<string, Row> = {
  '/v1/auth/register': {
    body: {
      company_name: 'Listed codes',
      owner_email: 'listed@example.test',
      owner_name: 'O',
      password: PASSWORD,
    },
    listed: ['INVALID_JSON', 'MISSING_FIELD', 'BAD_REQUEST'],
  },
  '/v1/auth/quick-register': {
    body: { email: 'listed@example.test' },
    listed: ['INVALID_JSON', 'BAD_REQUEST'],
  },
  '/v1/auth/login': {
    body: { email: 'listed@example.test', password: PASSWORD },
    listed: ['INVALID_JSON', 'MISSING_FIELD'],
  },
  '/v1/auth/oauth/complete-signup': {
    body: { token: 'none', company_name: 'Listed codes' },
    listed: ['OAUTH_PENDING_INVALID', 'BAD_REQUEST'],
  },
  '/v1/auth/forgot-password': {
    body: { email: 'listed@example.test' },
    listed: ['INVALID_JSON', 'MISSING_FIELD'],
  },
  '/v1/auth/reset-password': {
    body: { token: 'none', password: PASSWORD },
    listed: ['INVALID_JSON', 'MISSING_FIELD', 'BAD_REQUEST', 'RESET_TOKEN_INVALID', 'RESET_TOKEN_EXPIRED'],
  },
  '/v1/auth/verify-email': {
    auth: true,
    body: { code: '000000' },
    listed: [
      'EMAIL_VERIFICATION_CODE_INVALID',
      'EMAIL_VERIFICATION_CODE_EXPIRED',
      'EMAIL_VERIFICATION_MAX_ATTEMPTS',
    ],
  },
  '/v1/auth/me': {
    method: 'PATCH',
    auth: true,
    body: { name: 'N', company_name: 'Listed codes' },
    optional: ['name', 'company_name'],
    listed: ['BAD_REQUEST'],
  },
  '/v1/auth/me/password': {
    method: 'PATCH',
    auth: true,
    body: { current_password: PASSWORD, new_password: PASSWORD },
    listed: ['PASSWORD_TOO_SHORT', 'MISSING_FIELD'],
  },
  '/v1/auth/me/email/start': {
    auth: true,
    body: { new_email: 'listed@example.test', current_password: PASSWORD },
    listed: ['BAD_REQUEST', 'MISSING_FIELD'],
  },
  '/v1/auth/me/email/confirm': {
    auth: true,
    body: { code: '000000' },
    // The fifth wrong code destroys the pending change.
    listed: ['EMAIL_CHANGE_CODE_INVALID', 'EMAIL_CHANGE_LOCKED', 'EMAIL_CHANGE_NOT_FOUND'],
  },
  '/v1/auth/me/account': {
    method: 'DELETE',
    auth: true,
    body: { current_password: PASSWORD },
    listed: ['MISSING_FIELD', 'INVALID_JSON'],
  },
};

const MALFORMED = ['{', '', 'null', '[]', '"x"', '5', '{"a":}', '{"x":"\\u0000"}'];
const WRONG_TYPES = [5, true, null, {}, [], ['x']];

describe('a body of a wrong shape answers only the codes that the reference lists for the route', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  for (const [path, row] of Object.entries(ROWS)) {
    const { method = 'POST', body, listed, optional = [] } = row;
    const fields = Object.keys(body);

    test(`${method} ${path}: ${listed.join(', ')}`, async () => {
      const jwt = row.auth ? (await newOwner(server, { verified: false })).jwt : undefined;
      if (path === '/v1/auth/me/email/confirm') await begin(jwt!);
      const say = async (what: string, request: { body?: unknown; rawBody?: string }) => {
        const answer = await server.api(method, path, { jwt, ...request });
        const code = answer.body?.error_code;
        assert.ok(listed.includes(code), `${what}: ${answer.status} ${answer.text}`);
        assert.ok([400, 404, 429].includes(answer.status), `${what}: ${answer.status}`);
        return code as string;
      };
      for (const rawBody of MALFORMED) {
        // All their fields are optional, so an empty body is valid.
        if (optional.length === fields.length && rawBody === '') continue;
        await say(`the body ${rawBody}`, { rawBody });
      }
      for (const field of fields) {
        for (const value of WRONG_TYPES)
          await say(`${field}: ${JSON.stringify(value)}`, { body: { ...body, [field]: value } });
        await say(`${field} is empty`, { body: { ...body, [field]: '' } });
        if (optional.includes(field)) continue;
        const { [field]: _, ...rest } = body;
        await say(`${field} is missing`, { body: rest });
      }
    });
  }

  async function begin(jwt: string): Promise<void> {
    const body = { new_email: newEmail(), current_password: PASSWORD };
    assert.equal((await server.api('POST', '/v1/auth/me/email/start', { jwt, body })).status, 202);
  }

  test('an e-mail or password longer than any that exists matches none, and is not called a wrong shape', async () => {
    const long = { email: `${'x'.repeat(300)}@example.test`, password: 'x'.repeat(5_000) };
    const login = await server.api('POST', '/v1/auth/login', { body: long });
    assert.equal(login.body.error_code, 'INVALID_CREDENTIALS');
    const forgot = await server.api('POST', '/v1/auth/forgot-password', { body: { email: long.email } });
    assert.equal(forgot.status, 202);
  });
});
