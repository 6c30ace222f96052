import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ensureSuperadmins } from '@posthorn/core/accounts/users/ensure-superadmins.ts';
import { createMailQueue } from '@posthorn/core/mail/mail-queue.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { askUntilServed } from '../support/ask-until-served.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { type InternalBilling, startInternalBilling } from './support/internal-billing.ts';
import { codeIn, linkTokenIn } from './support/mailbox.ts';
import {
  logIn,
  newCompanyName,
  newEmail,
  newOwner,
  PASSWORD,
  type Person,
  register,
} from './support/people.ts';

describe('an address that a stranger has registered, whose account they deleted', () => {
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

  const api: AccountServer['api'] = (...request) => server.api(...request);
  const remove = async (jwt: string, password: string) => {
    const answer = await api('DELETE', '/v1/auth/me/account', { jwt, body: { current_password: password } });
    assert.equal(answer.status, 200, answer.text);
  };
  /** Never proven to be theirs. */
  async function squatted(): Promise<string> {
    const email = newEmail();
    const { body } = await api('POST', '/v1/auth/quick-register', { body: { email } });
    await remove((await logIn(server, email, body.password)).body.token, body.password);
    return email;
  }

  test('registers', async () => {
    const email = await squatted();
    const registered = await register(server, email);
    assert.equal((await logIn(server, email)).body.company_id, registered.body.company_id);
  });

  test('registers although the stranger holds the address that the deleted account would be given', async () => {
    const email = newEmail();
    const { body } = await api('POST', '/v1/auth/quick-register', { body: { email } });
    const { user_id, token } = (await logIn(server, email, body.password)).body;
    await remove(token, body.password);
    const given = { email: `user-${user_id}@deleted.invalid` };
    assert.equal((await api('POST', '/v1/auth/quick-register', { body: given })).status, 201);
    await register(server, email);
  });

  test('registers quickly', async () => {
    const email = await squatted();
    const answer = await api('POST', '/v1/auth/quick-register', { body: { email } });
    assert.equal(answer.status, 201, answer.text);
  });

  test('is invited to a company', async () => {
    const owner = await newOwner(server);
    const body = { email: await squatted(), name: 'Ana', role: 'admin' };
    const answer = await api('POST', '/v1/users', { jwt: owner.jwt, body });
    assert.equal(answer.status, 201, answer.text);
  });

  test('becomes the new e-mail of somebody', async () => {
    const owner = await newOwner(server);
    const email = await squatted();
    const body = { new_email: email, current_password: PASSWORD };
    const started = await api('POST', '/v1/auth/me/email/start', { jwt: owner.jwt, body });
    assert.equal(started.status, 202, started.text);
    const code = codeIn(await server.lastMail(email));
    const done = await api('POST', '/v1/auth/me/email/confirm', { jwt: owner.jwt, body: { code } });
    assert.equal(done.status, 200, done.text);
    assert.equal((await logIn(server, email)).body.user_id, owner.userId);
  });

  test('is invited as a superadmin', async () => {
    const email = await squatted();
    const { clock, config, db, log } = server;
    await ensureSuperadmins({
      db,
      clock,
      log,
      mails: createMailQueue({ cipher: createCipher(config.ENCRYPTION_KEY), clock }),
      settings: { frontendUrl: 'http://x', superadminEmails: [email] } as never,
    });
    const { rows } = await db.query('SELECT company_id FROM users WHERE email = $1', [email]);
    assert.deepEqual(rows, [{ company_id: 1 }]);
  });

  test('goes to one of many who register it at once', async () => {
    const email = await squatted();
    const asked = Array.from({ length: 5 }, () =>
      askUntilServed(() =>
        api('POST', '/v1/auth/register', {
          body: {
            company_name: newCompanyName(),
            owner_email: email,
            owner_name: 'Olivia',
            password: PASSWORD,
          },
        }),
      ),
    );
    const statuses = (await Promise.all(asked)).map((answer) => answer.status);
    assert.deepEqual(statuses.toSorted(), [201, 409, 409, 409, 409]);
  });

  test('registers, also after following an invitation into the deleted company', async () => {
    const owner = await newOwner(server);
    const email = newEmail();
    await api('POST', '/v1/users', { jwt: owner.jwt, body: { email, name: 'Ana', role: 'admin' } });
    const token = linkTokenIn(await server.lastMail(email));
    await remove(owner.jwt, PASSWORD);
    const body = { token, password: PASSWORD };
    refused(await api('POST', '/v1/auth/reset-password', { body }), 400, 'RESET_TOKEN_INVALID');
    const registered = await register(server, email);
    assert.equal((await logIn(server, email)).body.company_id, registered.body.company_id);
  });

  test('stays with a deleted account whose owner has proven it: 409 EMAIL_ALREADY_REGISTERED', async () => {
    const owner = await newOwner(server);
    await remove(owner.jwt, PASSWORD);
    const answer = await api('POST', '/v1/auth/quick-register', { body: { email: owner.email } });
    refused(answer, 409, 'EMAIL_ALREADY_REGISTERED');
    const login = await api('POST', '/v1/auth/login', { body: { email: owner.email, password: PASSWORD } });
    refused(login, 403, 'ACCOUNT_DELETED');
  });

  test('stays with its account where the registration comes to nothing', async () => {
    const email = await squatted();
    const taken = newCompanyName();
    const body = { company_name: taken, owner_name: 'Olivia', password: PASSWORD };
    await api('POST', '/v1/auth/register', { body: { ...body, owner_email: newEmail() } });
    const answer = await api('POST', '/v1/auth/register', { body: { ...body, owner_email: email } });
    refused(answer, 409, 'CONFLICT');
    const { rows } = await server.db.query<{ status: string }>(
      'SELECT c.status FROM companies c JOIN users u ON u.company_id = c.id WHERE u.email = $1',
      [email],
    );
    assert.deepEqual(rows, [{ status: 'deleted' }]);
  });
});

describe('an address whose invitation has expired', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const api: AccountServer['api'] = (...request) => server.api(...request);
  const invite = (owner: Person, email: string) =>
    api('POST', '/v1/users', { jwt: owner.jwt, body: { email, name: 'Ana', role: 'admin' } });
  const again = async (owner: Person): Promise<Person> => ({
    ...owner,
    jwt: (await logIn(server, owner.email)).body.token,
  });
  async function invited(days: number): Promise<{ owner: Person; email: string; userId: number }> {
    const owner = await newOwner(server);
    const email = newEmail();
    const { body } = await invite(owner, email);
    server.clock.advance(days * 86_400_000);
    return { owner: await again(owner), email, userId: body.id };
  }

  test('registers a company of its own; the one that invited has a user less, and its audit log says so', async () => {
    const { owner, email, userId } = await invited(8);
    const registered = await register(server, email);
    assert.equal((await logIn(server, email)).body.company_id, registered.body.company_id);
    const { body } = await api('GET', '/v1/users', { jwt: owner.jwt });
    assert.deepEqual(
      body.data.map((user: { id: number }) => user.id),
      [owner.userId],
    );
    const audit = await api('GET', '/v1/audit?action=user.removed', { jwt: owner.jwt });
    assert.deepEqual(
      audit.body.data.map((entry: { user_id: unknown; detail: unknown }) => [entry.user_id, entry.detail]),
      [[null, { user_id: userId, role: 'admin', reason: 'invite_expired' }]],
    );
  });

  test('registers quickly', async () => {
    const { email } = await invited(8);
    const answer = await api('POST', '/v1/auth/quick-register', { body: { email } });
    assert.equal(answer.status, 201, answer.text);
  });

  test('is invited again, by another company or by the same, which loses no place', async () => {
    const { owner, email } = await invited(8);
    await server.db.query('UPDATE companies SET max_users = 2 WHERE id = $1', [owner.companyId]);
    const same = await invite(owner, email);
    assert.equal(same.status, 201, same.text);
    const other = await newOwner(server);
    refused(await invite(other, email), 409, 'EMAIL_ALREADY_REGISTERED');
    server.clock.advance(8 * 86_400_000);
    const answer = await invite(await again(other), email);
    assert.equal(answer.status, 201, answer.text);
    const body = { token: linkTokenIn(await server.lastMail(email)), password: PASSWORD };
    assert.equal((await api('POST', '/v1/auth/reset-password', { body })).status, 200);
    assert.equal((await logIn(server, email)).body.company_id, other.companyId);
  });

  test('becomes the new e-mail of somebody', async () => {
    const { email } = await invited(8);
    const person = await newOwner(server);
    const body = { new_email: email, current_password: PASSWORD };
    const started = await api('POST', '/v1/auth/me/email/start', { jwt: person.jwt, body });
    assert.equal(started.status, 202, started.text);
    const code = codeIn(await server.lastMail(email));
    const done = await api('POST', '/v1/auth/me/email/confirm', { jwt: person.jwt, body: { code } });
    assert.equal(done.status, 200, done.text);
  });

  test('stays while the invitation is good, and while a link to set the password is', async () => {
    const { email } = await invited(6);
    const register = () => api('POST', '/v1/auth/quick-register', { body: { email } });
    refused(await register(), 409, 'EMAIL_ALREADY_REGISTERED');
    server.clock.advance(2 * 86_400_000);
    await api('POST', '/v1/auth/forgot-password', { body: { email } });
    const body = { token: linkTokenIn(await server.lastMail(email)), password: PASSWORD };
    refused(await register(), 409, 'EMAIL_ALREADY_REGISTERED');
    assert.equal((await api('POST', '/v1/auth/reset-password', { body })).status, 200);
    server.clock.advance(8 * 86_400_000);
    refused(await register(), 409, 'EMAIL_ALREADY_REGISTERED');
  });

  test('stays with who is just accepting, without making anybody wait', async () => {
    const { email, userId } = await invited(8);
    const client = await server.db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [userId]);
      const asked = api('POST', '/v1/auth/quick-register', { body: { email } });
      refused(await asked, 409, 'EMAIL_ALREADY_REGISTERED');
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  test('goes to one of many who register it at once', async () => {
    const { email } = await invited(8);
    const asked = Array.from({ length: 5 }, () =>
      askUntilServed(() => api('POST', '/v1/auth/quick-register', { body: { email } })),
    );
    const statuses = (await Promise.all(asked)).map((answer) => answer.status);
    assert.deepEqual(statuses.toSorted(), [201, 409, 409, 409, 409]);
  });
});
