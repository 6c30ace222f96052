import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { askUntilServed } from '../support/ask-until-served.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { linkTokenIn } from './support/mailbox.ts';
import { logIn, newEmail, newMember, newOwner, PASSWORD, type Person } from './support/people.ts';

describe('/v1/users', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
    await server.db.query('UPDATE companies SET max_users = 1000 WHERE id = $1', [owner.companyId]);
  });
  after(() => server.close());

  const create = (body: Record<string, unknown>, who: Person = owner) =>
    server.api('POST', '/v1/users', {
      jwt: who.jwt,
      body: { email: newEmail(), name: 'Ana', role: 'agent', ...body },
    });

  test('POST 201: without a password an invite goes out, and its link makes the account', async () => {
    const email = newEmail();
    const answer = await create({ email, role: 'admin' });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.body, {
      id: answer.body.id,
      email,
      name: 'Ana',
      role: 'admin',
      status: 'invited',
      email_verified: false,
      created_at: server.clock.now().toISOString(),
    });
    const tooSoon = await server.api('POST', '/v1/auth/login', { body: { email, password: PASSWORD } });
    refused(tooSoon, 401, 'INVALID_CREDENTIALS');
    const token = linkTokenIn(await server.lastMail(email));
    const accepted = await server.api('POST', '/v1/auth/reset-password', {
      body: { token, password: PASSWORD },
    });
    assert.equal(accepted.status, 200, accepted.text);
    const session = await logIn(server, email);
    assert.equal(session.body.role, 'admin');
    assert.equal(session.body.company_id, owner.companyId);
    assert.equal(session.body.email_verified, true);
  });

  test('POST 201: an invite works for seven days, not eight', async () => {
    const emails = [newEmail(), newEmail()];
    const tokens = [];
    for (const email of emails) {
      await create({ email });
      tokens.push(linkTokenIn(await server.lastMail(email)));
    }
    server.clock.advance(7 * 86_400_000 - 1);
    const accept = (token: string) =>
      server.api('POST', '/v1/auth/reset-password', { body: { token, password: PASSWORD } });
    assert.equal((await accept(tokens[0]!)).status, 200);
    server.clock.advance(1);
    refused(await accept(tokens[1]!), 400, 'RESET_TOKEN_EXPIRED');
    owner = { ...owner, jwt: (await logIn(server, owner.email)).body.token };
  });

  test('POST 201: who lets the invite go by comes in by a link to reset the password, and waits for nothing more', async () => {
    const email = newEmail();
    await create({ email, role: 'admin' });
    server.clock.advance(8 * 86_400_000);
    await server.api('POST', '/v1/auth/forgot-password', { body: { email } });
    const token = linkTokenIn(await server.lastMail(email));
    await server.api('POST', '/v1/auth/reset-password', { body: { token, password: PASSWORD } });
    const session = await logIn(server, email);
    assert.equal(session.body.email_verified, true);
    const made = await server.api('POST', '/v1/instances', {
      jwt: session.body.token,
      body: { name: 'shop' },
    });
    assert.equal(made.status, 201, made.text);
    owner = { ...owner, jwt: (await logIn(server, owner.email)).body.token };
  });

  test('POST 201: with a password the user logs in at once and no mail goes out', async () => {
    const email = newEmail();
    const answer = await create({ email, password: PASSWORD });
    assert.equal(answer.body.status, 'active');
    assert.deepEqual(await server.mailsTo(email), []);
    assert.equal((await logIn(server, email)).body.role, 'agent');
  });

  test('POST 400: missing and bad fields, and roles that nobody gives away', async () => {
    for (const field of ['email', 'name', 'role'])
      refused(await create({ [field]: undefined }), 400, 'MISSING_FIELD');
    for (const change of [{ email: 'x' }, { role: 'superadmin' }, { role: 'boss' }, { password: 'short' }])
      refused(await create(change), 400, 'BAD_REQUEST');
    refused(await server.api('POST', '/v1/users', { jwt: owner.jwt, rawBody: '{' }), 400, 'INVALID_JSON');
  });

  test('POST 409 EMAIL_ALREADY_REGISTERED, in any company', async () => {
    const other = await newOwner(server);
    refused(await create({ email: other.email.toUpperCase() }), 409, 'EMAIL_ALREADY_REGISTERED');
    refused(await create({ email: owner.email }), 409, 'EMAIL_ALREADY_REGISTERED');
  });

  test('POST 403 PLAN_LIMIT_REACHED: five users without a plan, exactly, however many ask at once', async () => {
    const free = await newOwner(server);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => askUntilServed(() => create({}, free))),
    );
    assert.equal(answers.filter((answer) => answer.status === 201).length, 4);
    for (const answer of answers) if (answer.status !== 201) refused(answer, 403, 'PLAN_LIMIT_REACHED');
    await server.db.query('UPDATE companies SET max_users = 6 WHERE id = $1', [free.companyId]);
    assert.equal((await create({}, free)).status, 201);
    refused(await create({}, free), 403, 'PLAN_LIMIT_REACHED');
  });

  test('GET 200: the users of the company and nobody else, by pages', async () => {
    const boss = await newOwner(server);
    const agent = await newMember(server, boss, 'agent');
    await create({ email: 'invited@example.test' }, boss);
    const list = await server.api('GET', '/v1/users', { key: boss.key });
    assert.deepEqual(
      list.body.data.map((user: Record<string, unknown>) => [user.email, user.role, user.status]),
      [
        [boss.email, 'owner', 'active'],
        [agent.email, 'agent', 'active'],
        ['invited@example.test', 'agent', 'invited'],
      ],
    );
    const page = await server.api('GET', '/v1/users?limit=1&page=2', { jwt: boss.jwt });
    assert.deepEqual(
      { ...page.body, data: page.body.data.map((user: { id: number }) => user.id) },
      { data: [agent.userId], total: 3, page: 2, limit: 1 },
    );
    assert.ok(!list.text.includes('argon2'));
  });

  test('PATCH 200: a new role holds from the next request on, for JWTs that are out already', async () => {
    const member = await newMember(server, owner, 'agent');
    const list = () => server.api('GET', '/v1/users', { jwt: member.jwt });
    refused(await list(), 403, 'INSUFFICIENT_PERMISSIONS');
    const path = `/v1/users/${member.userId}`;
    const promoted = await server.api('PATCH', path, {
      jwt: owner.jwt,
      body: { role: 'owner', name: 'Bea' },
    });
    assert.equal(promoted.status, 200);
    assert.equal(promoted.body.role, 'owner');
    assert.equal(promoted.body.name, 'Bea');
    assert.equal((await list()).status, 200);
    await server.api('PATCH', path, { jwt: owner.jwt, body: { role: 'agent' } });
    refused(await list(), 403, 'INSUFFICIENT_PERMISSIONS');
  });

  test('PATCH 200: without a field nothing changes; PATCH 400: a bad one', async () => {
    const path = `/v1/users/${owner.userId}`;
    assert.equal((await server.api('PATCH', path, { jwt: owner.jwt, body: {} })).body.role, 'owner');
    refused(
      await server.api('PATCH', path, { jwt: owner.jwt, body: { role: 'superadmin' } }),
      400,
      'BAD_REQUEST',
    );
    refused(await server.api('PATCH', path, { jwt: owner.jwt, rawBody: '{' }), 400, 'INVALID_JSON');
  });

  test('PATCH 409 CONFLICT: the company keeps an owner, also when two step down at once', async () => {
    const boss = await newOwner(server);
    const stepDown = (person: Person) =>
      server.api('PATCH', `/v1/users/${person.userId}`, { jwt: person.jwt, body: { role: 'agent' } });
    refused(await stepDown(boss), 409, 'CONFLICT');
    const second = await newMember(server, boss, 'owner');
    const answers = await Promise.all([stepDown(boss), stepDown(second)]);
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 409]);
  });

  test('PATCH 409 CONFLICT: an owner who was invited is none until they have come', async () => {
    const boss = await newOwner(server);
    const email = newEmail();
    await create({ email, role: 'owner' }, boss);
    const stepDown = () =>
      server.api('PATCH', `/v1/users/${boss.userId}`, { jwt: boss.jwt, body: { role: 'agent' } });
    refused(await stepDown(), 409, 'CONFLICT');
    const token = linkTokenIn(await server.lastMail(email));
    await server.api('POST', '/v1/auth/reset-password', { body: { token, password: PASSWORD } });
    assert.equal((await stepDown()).status, 200);
  });

  test('DELETE 204: an owner who was invited and has not come can be removed', async () => {
    const boss = await newOwner(server);
    const { body } = await create({ role: 'owner' }, boss);
    const answer = await server.api('DELETE', `/v1/users/${body.id}`, { jwt: boss.jwt });
    assert.equal(answer.status, 204, answer.text);
  });

  test('DELETE 204: sessions, JWTs and keys of the user end at once, those of the others do not', async () => {
    const member = await newMember(server, owner, 'owner');
    const { body } = await server.api('POST', '/v1/tokens', { jwt: member.jwt, body: {} });
    assert.equal((await server.api('GET', '/v1/instances', { key: body.token })).status, 200);
    assert.equal((await server.api('GET', '/v1/instances', { jwt: member.jwt })).status, 200);
    const removed = await server.api('DELETE', `/v1/users/${member.userId}`, { jwt: owner.jwt });
    assert.equal(removed.status, 204);
    refused(await server.api('GET', '/v1/instances', { key: body.token }), 401, 'TOKEN_INVALID');
    refused(await server.api('GET', '/v1/instances', { jwt: member.jwt }), 401, 'TOKEN_INVALID');
    refused(
      await server.api('POST', '/v1/auth/refresh', { cookies: member.cookies, csrf: member.csrf }),
      401,
      'REFRESH_FAILED',
    );
    const login = { email: member.email, password: member.password };
    refused(await server.api('POST', '/v1/auth/login', { body: login }), 401, 'INVALID_CREDENTIALS');
    assert.equal((await server.api('GET', '/v1/instances', { jwt: owner.jwt })).status, 200);
    assert.equal((await create({ email: member.email })).status, 201, 'the address is free again');
  });

  test('DELETE 409 CONFLICT: not oneself', async () => {
    refused(await server.api('DELETE', `/v1/users/${owner.userId}`, { jwt: owner.jwt }), 409, 'CONFLICT');
  });

  test('PATCH and DELETE 404: a foreign, an unknown and a misshapen id answer the same bytes', async () => {
    const other = await newOwner(server);
    for (const [method, body] of [
      ['PATCH', { role: 'agent' }],
      ['DELETE', undefined],
    ] as const) {
      const answers = [];
      for (const id of [99_999_999, other.userId, 'x'])
        answers.push(await server.api(method, `/v1/users/${id}`, { jwt: owner.jwt, body }));
      for (const answer of answers) {
        refused(answer, 404, 'NOT_FOUND');
        assert.deepEqual({ ...answer.body, trace_id: '' }, { ...answers[0]!.body, trace_id: '' });
      }
    }
    assert.equal((await server.api('GET', '/v1/users', { jwt: other.jwt })).body.data[0].role, 'owner');
  });

  test('403 INSUFFICIENT_PERMISSIONS for admins and agents', async () => {
    for (const role of ['admin', 'agent'] as const) {
      const member = await newMember(server, owner, role);
      refused(await create({}, member), 403, 'INSUFFICIENT_PERMISSIONS');
      const self = `/v1/users/${member.userId}`;
      refused(
        await server.api('PATCH', self, { jwt: member.jwt, body: { role: 'owner' } }),
        403,
        'INSUFFICIENT_PERMISSIONS',
      );
      refused(await server.api('DELETE', self, { jwt: member.jwt }), 403, 'INSUFFICIENT_PERMISSIONS');
    }
  });
});
