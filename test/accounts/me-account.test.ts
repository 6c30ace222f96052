import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { askUntilServed } from '../support/ask-until-served.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf, refused } from './support/api-client.ts';
import { type InternalBilling, startInternalBilling } from './support/internal-billing.ts';
import { logIn, newEmail, newMember, newOwner, type Person } from './support/people.ts';

describe('DELETE /v1/auth/me/account', () => {
  let server: AccountServer;
  let billing: InternalBilling;
  before(async () => {
    billing = await startInternalBilling();
    server = await startAccountServer({ BILLING_INTERNAL_URL: billing.url, INTERNAL_SECRET: billing.secret });
  });
  after(async () => {
    await server.close();
    await billing.close();
  });

  const path = '/v1/auth/me/account';
  const remove = (person: Pick<Person, 'jwt' | 'password'>) =>
    server.api('DELETE', path, { jwt: person.jwt, body: { current_password: person.password } });
  const statusOf = async (companyId: number) =>
    (await server.db.query<{ status: string }>('SELECT status FROM companies WHERE id = $1', [companyId]))
      .rows[0]!.status;
  const isWaiting = (requests: number) =>
    waitFor(async () => {
      const { rowCount } = await server.db.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === requests;
    }, 20_000);

  test('200: also while another owner makes a user, and neither waits for the other', async () => {
    const owner = await newOwner(server);
    const second = await newMember(server, owner, 'owner');
    const client = await server.db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM refresh_families WHERE user_id = $1 FOR UPDATE', [second.userId]);
    const user = { email: newEmail(), name: 'Mara', role: 'agent' };
    const making = server.api('POST', '/v1/users', { jwt: second.jwt, body: user });
    await isWaiting(1);
    const removing = remove(owner);
    await isWaiting(2);
    await client.query('COMMIT');
    client.release();
    const [made, removed] = await Promise.all([making, removing]);
    assert.deepEqual([made.status, removed.status], [201, 200], made.text + removed.text);
    assert.equal(await statusOf(owner.companyId), 'deleted');
  });

  test('200: with two instances and a subscription, exactly the effects of ACC-25', async () => {
    const owner = await newOwner(server);
    const agent = await newMember(server, owner, 'agent');
    const neighbour = await newOwner(server);
    billing.subscriptions.set(owner.companyId, 1);
    const mine = [
      await seedInstance(server.db, owner.companyId, { wanted: 'connected' }),
      await seedInstance(server.db, owner.companyId, { state: 'DISCONNECTED' }),
    ];
    const theirs = await seedInstance(server.db, neighbour.companyId, { wanted: 'connected' });
    // The workers are notified of the logout at once.
    const told: string[] = [];
    server.bus.on('instance', (id) => told.push(id));

    const answer = await remove(owner);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      { ...answer.body, message: '' },
      {
        message: '',
        requires_relogin: true,
        billing_cancelled: 1,
        instances_logout: 2,
        deleted_at: server.clock.now().toISOString(),
      },
    );
    assert.match(answer.setCookies.svc_refresh_token!, /Max-Age=0/);
    assert.equal(await statusOf(owner.companyId), 'deleted');
    assert.deepEqual(billing.cancelled.filter((id) => id === owner.companyId).length, 1);
    const { rows } = await server.db.query<{ id: string; wanted: string }>(
      'SELECT id, wanted FROM instances',
    );
    assert.deepEqual(Object.fromEntries(rows.map((row) => [row.id, row.wanted])), {
      [mine[0]!]: 'logged_out',
      [mine[1]!]: 'logged_out',
      [theirs]: 'connected',
    });
    await waitFor(() => told.length >= mine.length, undefined, { what: 'the workers hear of both' });
    assert.deepEqual(told.sort(), [...mine].sort());

    // All later requests are blocked, for every user and every way of authentication.
    for (const who of [{ jwt: owner.jwt }, { jwt: agent.jwt }, { key: owner.key }])
      refused(await server.api('GET', '/v1/instances', who), 403, 'COMPANY_SUSPENDED');
    for (const person of [owner, agent]) {
      refused(
        await server.api('POST', '/v1/auth/refresh', { cookies: person.cookies, csrf: person.csrf }),
        401,
        'REFRESH_FAILED',
      );
      const login = { email: person.email, password: person.password };
      refused(await server.api('POST', '/v1/auth/login', { body: login }), 403, 'ACCOUNT_DELETED');
    }
    assert.equal((await server.api('GET', '/v1/instances', { jwt: neighbour.jwt })).status, 200);
    assert.match((await server.lastMail(owner.email)).subject, /deleted/);
  });

  test('200: a second time, without counts', async () => {
    const owner = await newOwner(server);
    await remove(owner);
    const answer = await remove(owner);
    assert.equal(answer.status, 200);
    assert.equal(answer.body.requires_relogin, true);
    assert.deepEqual(Object.keys(answer.body).sort(), ['message', 'requires_relogin']);
  });

  test('200: of many at once one deletes, all are answered', async () => {
    const owner = await newOwner(server);
    const answers = await Promise.all(Array.from({ length: 5 }, () => askUntilServed(() => remove(owner))));
    assert.ok(answers.every((answer) => answer.status === 200));
    assert.equal(answers.filter((answer) => 'deleted_at' in answer.body).length, 1);
    const { rows } = await server.db.query(
      `SELECT 1 FROM audit_log WHERE company_id = $1 AND action = 'company.deleted'`,
      [owner.companyId],
    );
    assert.equal(rows.length, 1);
  });

  test('200: with the refresh cookie and the CSRF header in place of a JWT', async () => {
    const owner = await newOwner(server);
    const body = { current_password: owner.password };
    refused(await server.api('DELETE', path, { cookies: owner.cookies, body }), 403, 'CSRF_INVALID');
    const answer = await server.api('DELETE', path, { cookies: owner.cookies, csrf: owner.csrf, body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await statusOf(owner.companyId), 'deleted');
  });

  test('400 MISSING_FIELD and INVALID_JSON', async () => {
    const owner = await newOwner(server);
    refused(await server.api('DELETE', path, { jwt: owner.jwt, body: {} }), 400, 'MISSING_FIELD');
    refused(
      await server.api('DELETE', path, { jwt: owner.jwt, body: { current_password: '' } }),
      400,
      'MISSING_FIELD',
    );
    refused(await server.api('DELETE', path, { jwt: owner.jwt, rawBody: '{' }), 400, 'INVALID_JSON');
    assert.equal(await statusOf(owner.companyId), 'active');
  });

  test('401 UNAUTHORIZED with nothing, with a key, with a dead cookie; TOKEN_INVALID with a bad JWT', async () => {
    const owner = await newOwner(server);
    const body = { current_password: owner.password };
    refused(await server.api('DELETE', path, { body }), 401, 'UNAUTHORIZED');
    refused(await server.api('DELETE', path, { body, key: owner.key }), 401, 'UNAUTHORIZED');
    refused(await server.api('DELETE', path, { body, jwt: 'x.y.z' }), 401, 'TOKEN_INVALID');
    await server.api('POST', '/v1/auth/logout', { jwt: owner.jwt });
    refused(
      await server.api('DELETE', path, { body, cookies: owner.cookies, csrf: owner.csrf }),
      401,
      'UNAUTHORIZED',
    );
    assert.equal(await statusOf(owner.companyId), 'active');
  });

  test('401 UNAUTHORIZED: a refresh cookie that was rotated away identifies nobody', async () => {
    const owner = await newOwner(server);
    await server.api('POST', '/v1/auth/refresh', { cookies: owner.cookies, csrf: owner.csrf });
    server.clock.advance(10_001);
    const answer = await server.api('DELETE', path, {
      cookies: owner.cookies,
      csrf: owner.csrf,
      body: { current_password: owner.password },
    });
    refused(answer, 401, 'UNAUTHORIZED');
  });

  test('401 INVALID_CURRENT_PASSWORD: nothing is cancelled', async () => {
    const owner = await newOwner(server);
    refused(await remove({ jwt: owner.jwt, password: 'wrong' }), 401, 'INVALID_CURRENT_PASSWORD');
    assert.ok(!billing.cancelled.includes(owner.companyId));
  });

  test('403 OWNER_ONLY', async () => {
    const owner = await newOwner(server);
    for (const role of ['admin', 'agent'] as const)
      refused(await remove(await newMember(server, owner, role)), 403, 'OWNER_ONLY');
    assert.equal(await statusOf(owner.companyId), 'active');
  });

  for (const [code, what, change] of [
    ['OWNER_ONLY', 'was made an agent', `UPDATE users SET role = 'agent' WHERE id = $1`],
    ['TOKEN_INVALID', 'was removed', 'DELETE FROM users WHERE id = $1'],
    [
      'TOKEN_INVALID',
      'was logged out',
      'UPDATE refresh_families SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL',
    ],
  ] as const)
    test(`${code}: who ${what} while billing was asked deletes nothing`, async () => {
      const owner = await newOwner(server);
      const second = await newMember(server, owner, 'owner');
      const client = await server.db.pool.connect();
      await client.query('BEGIN');
      await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [second.userId]);
      const removing = remove(second);
      await isWaiting(1);
      await client.query(change, [second.userId]);
      await client.query('COMMIT');
      client.release();
      refused(await removing, code === 'OWNER_ONLY' ? 403 : 401, code);
      assert.equal(await statusOf(owner.companyId), 'active');
      assert.equal((await server.api('GET', '/v1/users', { jwt: owner.jwt })).status, 200);
    });

  test('401 TOKEN_INVALID: nor who came with the cookie of a session that ended meanwhile', async () => {
    const owner = await newOwner(server);
    const { cookies, csrf, password } = owner;
    const client = await server.db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [owner.userId]);
    const removing = server.api('DELETE', path, { cookies, csrf, body: { current_password: password } });
    await isWaiting(1);
    await client.query('UPDATE refresh_families SET revoked_at = now() WHERE user_id = $1', [owner.userId]);
    await client.query('COMMIT');
    client.release();
    refused(await removing, 401, 'TOKEN_INVALID');
    assert.equal(await statusOf(owner.companyId), 'active');
  });

  test('502 ACCOUNT_DELETION_FAILED: billing fails or is away, and nothing is changed', async () => {
    const owner = await newOwner(server);
    const instance = await seedInstance(server.db, owner.companyId, { wanted: 'connected' });
    billing.answerWith(500);
    refused(await remove(owner), 502, 'ACCOUNT_DELETION_FAILED');
    billing.answerWith(null);
    const { rows } = await server.db.query<{ wanted: string }>('SELECT wanted FROM instances WHERE id = $1', [
      instance,
    ]);
    assert.equal(rows[0]!.wanted, 'connected');
    assert.equal(await statusOf(owner.companyId), 'active');
    assert.equal(
      (await server.api('POST', '/v1/auth/refresh', { cookies: owner.cookies, csrf: owner.csrf })).status,
      200,
    );
  });

  test('502 ACCOUNT_DELETION_FAILED: billing is not configured', async () => {
    const alone = await startAccountServer();
    try {
      const owner = await newOwner(alone);
      const answer = await alone.api('DELETE', path, {
        jwt: owner.jwt,
        body: { current_password: owner.password },
      });
      refused(answer, 502, 'ACCOUNT_DELETION_FAILED');
    } finally {
      await alone.close();
    }
  });

  test('500 ACCOUNT_DELETION_FAILED: billing cancelled, the record could not be updated; asking again mends it', async () => {
    const owner = await newOwner(server);
    billing.subscriptions.set(owner.companyId, 1);
    await server.db.query(
      `ALTER TABLE companies ADD CONSTRAINT broken CHECK (status <> 'deleted' OR id <> ${owner.companyId}) NOT VALID`,
    );
    const answer = await remove(owner);
    await server.db.query('ALTER TABLE companies DROP CONSTRAINT broken');
    refused(answer, 500, 'ACCOUNT_DELETION_FAILED');
    assert.equal(billing.subscriptions.get(owner.companyId), 0);
    assert.equal(await statusOf(owner.companyId), 'active');
    const again = await remove(owner);
    assert.equal(again.status, 200);
    assert.equal(again.body.billing_cancelled, 0);
  });

  test('the session of a login before the deletion is gone for the console, too', async () => {
    const owner = await newOwner(server);
    const other = await logIn(server, owner.email);
    await remove(owner);
    const cookies = cookiesOf(other);
    refused(
      await server.api('POST', '/v1/auth/refresh', { cookies, csrf: cookies.svc_csrf_token! }),
      401,
      'REFRESH_FAILED',
    );
  });
});
