import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn, linkTokenIn } from './support/mailbox.ts';
import { logIn, newEmail, newMember, newOwner, type Person } from './support/people.ts';

interface Entry {
  id: number;
  action: string;
  user_id: number | null;
  token_id: number | null;
  detail: Record<string, unknown>;
  trace_id: string | null;
}

describe('GET /v1/audit', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
  });
  after(() => server.close());

  const read = async (who: Person, query = ''): Promise<{ data: Entry[]; next_before: number | null }> => {
    const answer = await server.api('GET', `/v1/audit${query}`, { jwt: who.jwt });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };

  test('200: it has the events that matter for security, newest first, with their author and trace id', async () => {
    const { api } = server;
    let jwt = owner.jwt;
    const call = (method: string, path: string, body?: unknown) => api(method, path, { jwt, body });
    const user = (await call('POST', '/v1/users', { email: newEmail(), name: 'Ana', role: 'agent' })).body;
    await call('PATCH', `/v1/users/${user.id}`, { role: 'admin', name: 'Bea' });
    await call('DELETE', `/v1/users/${user.id}`);
    const token = await call('POST', '/v1/tokens', { name: 'ci' });
    const byKey = await api('POST', '/v1/tokens', { key: token.body.token, body: { name: 'made by a key' } });
    await call('DELETE', `/v1/tokens/${byKey.body.id}`);
    await call('PATCH', '/v1/auth/me', { company_name: `Renamed ${newEmail().slice(0, 8)}` });
    const next = newEmail();
    await call('POST', '/v1/auth/me/email/start', { new_email: next, current_password: owner.password });
    await call('POST', '/v1/auth/me/email/confirm', { code: codeIn(await server.lastMail(next)) });
    // The change has ended every session.
    jwt = (await logIn(server, next)).body.token;
    const changed = { current_password: owner.password, new_password: 'another one' };
    await call('PATCH', '/v1/auth/me/password', changed);
    await api('POST', '/v1/auth/forgot-password', { body: { email: next } });
    const link = linkTokenIn(await server.lastMail(next));
    await api('POST', '/v1/auth/reset-password', { body: { token: link, password: owner.password } });
    for (let i = 0; i < 5; i++)
      await api('POST', '/v1/auth/login', { body: { email: next, password: 'no' } });
    // It is recorded after the answer, so that the time of the answer does not tell who has an account.
    await waitFor(async () => {
      const { rows } = await server.db.query(
        `SELECT FROM audit_log WHERE user_id = $1 AND action = 'session.locked'`,
        [owner.userId],
      );
      return rows.length > 0;
    });
    server.clock.advance(15 * 60_000);
    jwt = (await logIn(server, next)).body.token;
    await call('POST', '/v1/auth/logout');
    owner = { ...owner, email: next, jwt: (await logIn(server, next)).body.token };

    const { data, next_before } = await read(owner);
    assert.equal(next_before, null);
    assert.deepEqual(data.map((entry) => entry.action).reverse(), [
      'company.registered',
      'token.created',
      'session.login',
      'email.verified',
      'user.invited',
      'user.role_changed',
      'user.renamed',
      'user.removed',
      'token.created',
      'token.created',
      'token.revoked',
      'company.renamed',
      'email.change_started',
      'email.changed',
      'session.login',
      'password.changed',
      'password.reset',
      'session.login_failed',
      'session.locked',
      'session.login',
      'session.logout',
      'session.login',
    ]);
    const roleChange = data.find((entry) => entry.action === 'user.role_changed')!;
    assert.equal(roleChange.user_id, owner.userId);
    assert.deepEqual(roleChange.detail, { user_id: user.id, from: 'agent', to: 'admin' });
    const madeByKey = data.filter((entry) => entry.action === 'token.created')[0]!;
    assert.equal(madeByKey.token_id, token.body.id);
    assert.equal(madeByKey.trace_id, byKey.headers.get('x-trace-id'));
    assert.ok(!JSON.stringify(data).includes('svc_'), 'no secret is ever in it');
  });

  test('200: it has failed logins, one line in a quarter of an hour, and none for unknown users', async () => {
    const person = await newOwner(server);
    const { api } = server;
    const fail = (email: string) => api('POST', '/v1/auth/login', { body: { email, password: 'no' } });
    const failed = async () => {
      const jwt = (await logIn(server, person.email)).body.token;
      return (await read({ ...person, jwt }, '?action=session.login_failed')).data;
    };
    const trace = (await fail(person.email)).headers.get('x-trace-id');
    await waitFor(async () => {
      const { rows } = await server.db.query(
        `SELECT FROM audit_log WHERE user_id = $1 AND action = 'session.login_failed'`,
        [person.userId],
      );
      return rows.length > 0;
    });
    await Promise.all(Array.from({ length: 20 }, () => fail(person.email)));
    server.clock.advance(15 * 60_000);
    const [entry, ...more] = await failed();
    assert.equal(more.length, 0);
    assert.deepEqual([entry!.user_id, entry!.trace_id], [person.userId, trace]);
    await fail(person.email);
    await waitFor(async () => (await failed()).length === 2);
    const before = await server.db.query('SELECT count(*) AS n FROM audit_log');
    await fail(newEmail());
    const after = await server.db.query('SELECT count(*) AS n FROM audit_log');
    assert.deepEqual(after.rows, before.rows);
    owner = { ...owner, jwt: (await logIn(server, owner.email)).body.token };
  });

  test('200: by pages and by action', async () => {
    const seen: number[] = [];
    let before: number | null = null;
    do {
      const page: { data: Entry[]; next_before: number | null } = await read(
        owner,
        `?limit=3${before ? `&before=${before}` : ''}`,
      );
      seen.push(...page.data.map((entry) => entry.id));
      before = page.next_before;
    } while (before !== null);
    const all = await read(owner, '?limit=200');
    assert.deepEqual(
      seen,
      all.data.map((entry) => entry.id),
    );
    const logins = await read(owner, '?action=session.login');
    assert.ok(logins.data.length > 0 && logins.data.every((entry) => entry.action === 'session.login'));
  });

  test('200: nobody reads another company’s', async () => {
    const other = await newOwner(server);
    const { data } = await read(other);
    assert.deepEqual(new Set(data.map((entry) => entry.user_id)), new Set([other.userId]));
  });

  test('403 INSUFFICIENT_PERMISSIONS; 401; 400', async () => {
    for (const role of ['admin', 'agent'] as const) {
      const member = await newMember(server, owner, role);
      refused(await server.api('GET', '/v1/audit', { jwt: member.jwt }), 403, 'INSUFFICIENT_PERMISSIONS');
    }
    refused(await server.api('GET', '/v1/audit'), 401, 'UNAUTHORIZED');
    refused(await server.api('GET', '/v1/audit?before=x', { jwt: owner.jwt }), 400, 'BAD_REQUEST');
  });
});
