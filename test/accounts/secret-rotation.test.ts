import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTickets } from '@posthorn/core/events/ticket.ts';
import { createParts, type Parts } from '@posthorn/test/support/parts.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf, refused } from './support/api-client.ts';
import { logIn, newOwner, type Person } from './support/people.ts';

const OLD = 'the secret that everybody has signed with so far';
const NEW = 'the secret that takes its place in the meantime';

describe('while JWT_SECRET is changed, process by process', () => {
  let parts: Parts;
  /** Not restarted yet: it signs with the old secret, and accepts the new one. */
  let former: AccountServer;
  /** Restarted: it signs with the new secret, and accepts the old one. */
  let latter: AccountServer;
  /** The state of all servers at the end. */
  let last: AccountServer;
  let owner: Person;
  before(async () => {
    parts = await createParts();
    const start = (env: Record<string, string>) => startAccountServer(env, { parts });
    former = await start({ JWT_SECRET: OLD, JWT_SECRETS_ACCEPTED: NEW });
    latter = await start({ JWT_SECRET: NEW, JWT_SECRETS_ACCEPTED: OLD });
    last = await start({ JWT_SECRET: NEW });
    owner = await newOwner(former);
  });
  after(async () => {
    await Promise.all([former, latter, last].map((server) => server.close()));
    await parts.close();
  });

  const refresh = (server: AccountServer, cookies: Record<string, string>) =>
    server.api('POST', '/v1/auth/refresh', { cookies, csrf: cookies.svc_csrf_token });

  test('a JWT of either is good at both', async () => {
    assert.equal((await latter.api('GET', '/v1/users', { jwt: owner.jwt })).status, 200);
    const again = await logIn(latter, owner.email);
    assert.equal((await former.api('GET', '/v1/users', { jwt: again.body.token })).status, 200);
  });

  test('a session is renewed by both in turn, with the CSRF token that its browser has', async () => {
    let { cookies } = await newOwner(former);
    for (const server of [latter, former, latter]) {
      const answer = await refresh(server, cookies);
      assert.equal(answer.status, 200, answer.text);
      cookies = cookiesOf(answer);
      parts.clock.advance(10_001);
    }
    assert.equal(
      (await refresh(last, cookies)).status,
      200,
      'and afterwards by those that know only the new one',
    );
  });

  test('two tabs that renew a session at the same time, at one of each, get the same successor', async () => {
    const { cookies } = await newOwner(former);
    const first = cookiesOf(await refresh(former, cookies));
    const second = await refresh(latter, cookies);
    assert.equal(second.status, 200);
    assert.equal(cookiesOf(second).svc_refresh_token, first.svc_refresh_token);
    parts.clock.advance(10_001);
    assert.equal((await refresh(latter, cookiesOf(second))).status, 200);
  });

  test('a ticket of one opens a stream at the other', async () => {
    const { body } = await former.api('POST', '/v1/events/ticket', { jwt: owner.jwt });
    const tickets = createTickets({ db: parts.db, secret: NEW, accepted: [OLD], clock: parts.clock });
    assert.equal((await tickets.redeem(body.ticket)).userId, owner.userId);
  });

  test('once no server accepts the old secret, its tokens are refused, and sessions continue', async () => {
    const signed = await logIn(former, owner.email);
    refused(await last.api('GET', '/v1/users', { jwt: signed.body.token }), 401, 'TOKEN_INVALID');
    assert.equal((await last.api('GET', '/v1/users', { key: owner.key })).status, 200);
    const fresh = await logIn(last, owner.email);
    assert.equal((await last.api('GET', '/v1/users', { jwt: fresh.body.token })).status, 200);
  });
});
