import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newApiKey } from '@posthorn/core/accounts/tokens/api-key.ts';
import { ensureSuperadmins } from '@posthorn/core/accounts/users/ensure-superadmins.ts';
import { createMailQueue } from '@posthorn/core/mail/mail-queue.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { logIn, newEmail, newOwner, PASSWORD, type Person, personOf, register } from './support/people.ts';
import { newSuperadmin, ROOT_EMAIL } from './support/superadmin.ts';

describe('superadmins and company 1', () => {
  let server: AccountServer;
  let root: Person;
  before(async () => {
    server = await startAccountServer({
      SUPERADMIN_EMAILS: `${ROOT_EMAIL.toUpperCase()}, second@example.test`,
    });
    root = await newSuperadmin(server);
  });
  after(() => server.close());

  /** A user and a key of company 1, written straight into the tables. */
  async function platformKey(user: { email: string; role: string; flag: boolean }): Promise<string> {
    const made = await server.db.query<{ id: number }>(
      `INSERT INTO users (company_id, email, name, role, is_superadmin, email_verified_at)
       VALUES (1, $1, 'P', $2, $3, now()) RETURNING id`,
      [user.email, user.role, user.flag],
    );
    const { key, hash, last4 } = newApiKey();
    await server.db.query(
      `INSERT INTO api_tokens (company_id, user_id, name, key_hash, last4) VALUES (1, $1, 'k', $2, $3)`,
      [made.rows[0]!.id, hash, last4],
    );
    return key;
  }

  test('an address on the list is invited at start and becomes a superadmin of company 1', async () => {
    const session = await logIn(server, ROOT_EMAIL);
    assert.equal(session.body.is_superadmin, true);
    assert.equal(session.body.role, 'superadmin');
    assert.equal(session.body.company_id, 1);
  });

  test('starting again invites nobody twice; an address of anybody else gives no rights, and the log says so', async () => {
    const taken = newEmail();
    await register(server, taken);
    const ordinary = newEmail();
    await platformKey({ email: ordinary, role: 'owner', flag: false });
    const warned: unknown[] = [];
    const { clock, config, db } = server;
    await ensureSuperadmins({
      db,
      clock,
      log: { warn: (entry: unknown) => warned.push(entry) } as never,
      mails: createMailQueue({ cipher: createCipher(config.ENCRYPTION_KEY), clock }),
      settings: { frontendUrl: 'http://x', superadminEmails: [ROOT_EMAIL, taken, ordinary] } as never,
    });
    assert.equal((await server.mailsTo(ROOT_EMAIL)).length, 1);
    const { rows } = await db.query(
      'SELECT id AS user_id, company_id FROM users WHERE email = ANY ($1) ORDER BY id',
      [[taken, ordinary]],
    );
    assert.deepEqual(warned, rows);
    assert.equal((await logIn(server, taken)).body.is_superadmin, false);
  });

  test('nobody becomes one by registering an address of the list', async () => {
    for (const path of ['/v1/auth/register', '/v1/auth/quick-register']) {
      const body = {
        email: ROOT_EMAIL,
        owner_email: ROOT_EMAIL,
        company_name: 'Mine now',
        owner_name: 'x',
        password: PASSWORD,
      };
      refused(await server.api('POST', path, { body }), 409, 'EMAIL_ALREADY_REGISTERED');
    }
  });

  test('OWNER_ONLY: a superadmin renames no company, not even the platform', async () => {
    const body = { company_name: 'Mine now' };
    refused(await server.api('PATCH', '/v1/auth/me', { jwt: root.jwt, body }), 403, 'OWNER_ONLY');
    assert.equal((await server.api('PATCH', '/v1/auth/me', { jwt: root.jwt, body: {} })).status, 200);
  });

  test('a key of company 1 is a superadmin’s, and {instanceId} finds its company by itself', async () => {
    const owner = await newOwner(server);
    const instance = await seedInstance(server.db, owner.companyId);
    for (const who of [{ key: root.key }, { jwt: root.jwt }]) {
      const answer = await server.api('GET', `/v1/instances/${instance}`, who);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.company_id, owner.companyId);
    }
  });

  test('401 TOKEN_INVALID: any other key of company 1', async () => {
    for (const user of [
      { email: 'second@example.test.invalid', role: 'superadmin', flag: true },
      { email: newEmail(), role: 'owner', flag: true },
      { email: newEmail(), role: 'superadmin', flag: false },
    ]) {
      const key = await platformKey(user);
      refused(await server.api('GET', '/v1/instances', { key }), 401, 'TOKEN_INVALID');
    }
  });

  test('401 TOKEN_INVALID: a key that was good, once its user is demoted', async () => {
    const key = await platformKey({ email: 'third@example.test', role: 'superadmin', flag: true });
    refused(await server.api('GET', '/v1/instances', { key }), 401, 'TOKEN_INVALID');
    const again = await startAccountServer({ SUPERADMIN_EMAILS: 'second@example.test' });
    try {
      const second = await newSuperadmin(again, 'second@example.test');
      assert.equal((await again.api('GET', '/v1/instances', { key: second.key })).status, 200);
      await again.db.query(`UPDATE users SET is_superadmin = false WHERE id = $1`, [second.userId]);
      await again.db.query(`SELECT pg_notify('auth', $1)`, [`user:${second.userId}`]);
      const byKey = () => again.api('GET', '/v1/instances', { key: second.key });
      await waitFor(async () => (await byKey()).status === 401, undefined, { what: 'the key is refused' });
      refused(await byKey(), 401, 'TOKEN_INVALID');
      refused(await again.api('GET', '/v1/admin/companies', { jwt: second.jwt }), 403, 'SUPERADMIN_REQUIRED');
    } finally {
      await again.close();
    }
  });

  test('superadmin routes need a JWT with is_superadmin: a key of theirs is none', async () => {
    assert.equal((await server.api('GET', '/v1/admin/companies', { jwt: root.jwt })).status, 200);
    refused(await server.api('GET', '/v1/admin/companies', { key: root.key }), 401, 'UNAUTHORIZED');
  });

  test('superadmin JWTs are exempt from the state of the company, and from throttling', async () => {
    await server.db.query(`UPDATE companies SET status = 'suspended' WHERE id = 1`);
    await server.db.query(`SELECT pg_notify('auth', 'company:1')`);
    await waitFor(async () => (await server.api('GET', '/v1/instances', { key: root.key })).status === 403);
    const answer = await server.api('GET', '/v1/admin/companies', { jwt: root.jwt });
    await server.db.query(`UPDATE companies SET status = 'active' WHERE id = 1`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-ratelimit-limit'), null);
  });

  test('a superadmin does not delete the platform', async () => {
    const answer = await server.api('DELETE', '/v1/auth/me/account', {
      jwt: root.jwt,
      body: { current_password: PASSWORD },
    });
    refused(answer, 403, 'OWNER_ONLY');
  });

  test('nor does an owner whom a superadmin has made there', async () => {
    const body = { email: newEmail(), name: 'Helper', role: 'owner', password: PASSWORD };
    await server.db.query('UPDATE companies SET max_users = 1000 WHERE id = 1');
    assert.equal((await server.api('POST', '/v1/users', { jwt: root.jwt, body })).status, 201);
    const helper = await logIn(server, body.email);
    const answer = await server.api('DELETE', '/v1/auth/me/account', {
      jwt: helper.body.token,
      body: { current_password: PASSWORD },
    });
    refused(answer, 403, 'OWNER_ONLY');
  });

  test('roles of superadmins are the list’s to give and take', async () => {
    const owner = personOf(await logIn(server, ROOT_EMAIL), ROOT_EMAIL, PASSWORD, '');
    const path = `/v1/users/${owner.userId}`;
    refused(await server.api('PATCH', path, { jwt: owner.jwt, body: { role: 'agent' } }), 409, 'CONFLICT');
  });

  test('who is off the list can be removed, and is invited anew when the list names them again', async () => {
    const former = await newSuperadmin(server, 'second@example.test');
    const after = await startAccountServer({ SUPERADMIN_EMAILS: ROOT_EMAIL }, { parts: server });
    try {
      const path = `/v1/users/${former.userId}`;
      refused(await server.api('DELETE', path, { jwt: root.jwt }), 409, 'CONFLICT');
      const removed = await after.api('DELETE', path, { jwt: root.jwt });
      assert.equal(removed.status, 204, removed.text);
      refused(await after.api('GET', '/v1/instances', { jwt: former.jwt }), 401, 'TOKEN_INVALID');
    } finally {
      await after.close();
    }
    const again = await startAccountServer({ SUPERADMIN_EMAILS: 'second@example.test' }, { parts: server });
    try {
      const { jwt, userId } = await newSuperadmin(again, 'second@example.test');
      assert.notEqual(userId, former.userId);
      assert.equal((await again.api('GET', '/v1/admin/companies', { jwt })).status, 200);
    } finally {
      await again.close();
    }
  });
});
