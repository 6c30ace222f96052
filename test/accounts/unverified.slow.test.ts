import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { linkTokenIn } from './support/mailbox.ts';
import { newEmail, newOwner, PASSWORD, type Person } from './support/people.ts';
import { sampleBody } from './support/sample-body.ts';

/** Tables in which a user without a verified e-mail creates nothing. */
const GUARDED = ['api_tokens', 'instances', 'webhooks', 'users'] as const;
/** These routes would end the credentials that the other routes are tried with. */
const ENDS_ACCESS = new Set(['auth.logout', 'auth.deleteAccount']);

describe('an owner whose e-mail is not verified', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server, { verified: false });
  });
  after(() => server.close());

  const count = async () => {
    const counts: Record<string, number> = {};
    for (const table of GUARDED) {
      const { rows } = await server.db.query<{ n: number }>(
        `SELECT count(*) AS n FROM ${table} WHERE company_id = $1`,
        [owner.companyId],
      );
      counts[table] = rows[0]!.n;
    }
    return counts;
  };

  for (const { name, route } of listRoutes(messagingContract)) {
    const meta = metaOf(route);
    if (route.method === 'GET' || meta.auth === 'none' || ENDS_ACCESS.has(name)) continue;
    test(`gets no user, key, instance or webhook by ${name}`, async () => {
      const before = await count();
      const path = route.path
        .replace(/:(instanceId|eventId|mediaId|taskId)/g, '01890000-0000-7000-8000-000000000000')
        // The id of a user may be that of a key as well, which would be revoked.
        .replace(/:\w+/g, name.startsWith('users.') ? String(owner.userId) : '99999999');
      for (const who of [{ jwt: owner.jwt }, { key: owner.key }]) {
        const headers = { 'idempotency-key': name };
        const body = sampleBody(route) ?? {};
        await server.api(route.method, path, { ...who, headers, body });
      }
      assert.deepEqual(await count(), before);
    });
  }

  test('403 EMAIL_NOT_VERIFIED: makes no user, neither with a password nor by an invite', async () => {
    for (const who of [{ jwt: owner.jwt }, { key: owner.key }])
      for (const password of [undefined, PASSWORD])
        for (const role of ['owner', 'admin', 'agent']) {
          const body = { email: newEmail(), name: 'Ana', role, password };
          refused(await server.api('POST', '/v1/users', { ...who, body }), 403, 'EMAIL_NOT_VERIFIED');
          assert.deepEqual(await server.mailsTo(body.email), []);
        }
  });

  test('a reset of the password opens no way either: the code is still to be typed', async () => {
    const person = await newOwner(server, { verified: false });
    await server.api('POST', '/v1/auth/forgot-password', { body: { email: person.email } });
    const token = linkTokenIn(await server.lastMail(person.email));
    await server.api('POST', '/v1/auth/reset-password', { body: { token, password: PASSWORD } });
    const login = await server.api('POST', '/v1/auth/login', {
      body: { email: person.email, password: PASSWORD },
    });
    assert.equal(login.body.email_verified, false);
    const answer = await server.api('POST', '/v1/tokens', { jwt: login.body.token, body: {} });
    refused(answer, 403, 'EMAIL_NOT_VERIFIED');
  });
});
