import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setCompanyStatus } from '@posthorn/core/accounts/company/set-company-status.ts';
import { REFRESH_OVERLAP_MS } from '@posthorn/core/accounts/sessions/refresh-session.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { WebSocket } from 'ws';
import { INTERNAL_SECRET, startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { readSse } from '../events/support.ts';
import { waitFor } from '../support/process.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, cookiesOf, refused } from './support/api-client.ts';
import { codeIn, linkTokenIn } from './support/mailbox.ts';
import { logIn, newEmail, newMember, newOwner, PASSWORD, type Person } from './support/people.ts';

/** The credentials of one login, from before and after two refreshes. */
interface Held {
  person: Person;
  /** Oldest first. */
  jwts: string[];
  /** The cookies with each refresh token, oldest first. */
  cookies: Record<string, string>[];
  tickets: string[];
  /** Resolve when the live stream that each of them opened is closed. */
  streams: { name: string; closed: Promise<unknown> }[];
}

interface Way {
  name: string;
  end(held: Held): Promise<unknown>;
  /** The code that a JWT of the session answers afterwards, also in the other services and processes. */
  code: string;
  /** The one JWT that stays valid. */
  survivor?: number;
  /** Whether another login of the same user stays valid. */
  othersGoOn: boolean;
}

const WAYS: Way[] = [
  ...[0, 1, 2].map((i) => ({
    name: `a logout with JWT ${i + 1} of 3`,
    end: ({ jwts }: Held) => api('POST', '/v1/auth/logout', { jwt: jwts[i] }),
    code: 'TOKEN_INVALID',
    othersGoOn: true,
  })),
  {
    name: 'a logout by its cookie, with the JWT of another session',
    async end({ person, cookies }) {
      const { body } = await logIn(server, person.email);
      return api('POST', '/v1/auth/logout', { jwt: body.token, cookies: cookies[2]! });
    },
    code: 'TOKEN_INVALID',
    othersGoOn: true,
  },
  {
    name: 'a stolen refresh token that comes twice',
    async end({ cookies }) {
      server.clock.advance(REFRESH_OVERLAP_MS + 1);
      const answer = await refresh(cookies[0]!);
      refused(answer, 401, 'REFRESH_FAILED');
      return { ...answer, status: 200 };
    },
    code: 'TOKEN_INVALID',
    othersGoOn: true,
  },
  {
    name: 'a change of the password',
    end: ({ jwts, person }) =>
      api('PATCH', '/v1/auth/me/password', {
        jwt: jwts[1],
        body: { current_password: person.password, new_password: 'another horse battery' },
      }),
    code: 'PASSWORD_CHANGED',
    // ACC-10
    survivor: 1,
    othersGoOn: false,
  },
  {
    name: 'a password by link',
    async end({ person }) {
      await api('POST', '/v1/auth/forgot-password', { body: { email: person.email } });
      const token = linkTokenIn(await server.lastMail(person.email));
      return api('POST', '/v1/auth/reset-password', { body: { token, password: 'another horse battery' } });
    },
    code: 'PASSWORD_CHANGED',
    othersGoOn: false,
  },
  {
    name: 'a change of the e-mail',
    async end({ jwts, person }) {
      const next = newEmail();
      const body = { new_email: next, current_password: person.password };
      await api('POST', '/v1/auth/me/email/start', { jwt: jwts[1], body });
      const code = codeIn(await server.lastMail(next));
      return api('POST', '/v1/auth/me/email/confirm', { jwt: jwts[1], body: { code } });
    },
    code: 'TOKEN_INVALID',
    othersGoOn: false,
  },
  {
    name: 'the removal of the user',
    end: ({ person }) => api('DELETE', `/v1/users/${person.userId}`, { jwt: founder.get(person)!.jwt }),
    code: 'TOKEN_INVALID',
    othersGoOn: false,
  },
  {
    name: 'the suspension of the company, by another process',
    end: async ({ person, jwts }) => {
      const by = { userId: 1 };
      const { companyId } = person;
      const forget = () => undefined;
      await setCompanyStatus({ ...server, forget }, { companyId, status: 'suspended', by, traceId: null });
      // It learns of it from the other one.
      await waitFor(async () => (await api('GET', '/v1/users', { jwt: jwts[0] })).status >= 400);
      return { status: 200 };
    },
    code: 'COMPANY_SUSPENDED',
    othersGoOn: false,
  },
  {
    name: 'the deletion of the company',
    end: ({ jwts }) =>
      api('DELETE', '/v1/auth/me/account', { jwt: jwts[1], body: { current_password: PASSWORD } }),
    code: 'COMPANY_SUSPENDED',
    othersGoOn: false,
  },
];

const SESSION_DAYS = 2;
let billing: TestBilling;
/** Two processes of the messaging service, on one database. */
let server: AccountServer;
let second: AccountServer;
/** Another owner of each person's company. */
const founder = new Map<Person, Person>();

before(async () => {
  billing = await startTestBilling({ requestsPerMinute: 1_000_000 });
  const { parts } = billing;
  const env = {
    BILLING_INTERNAL_URL: billing.url,
    INTERNAL_SECRET,
    SESSION_MAX_DAYS: String(SESSION_DAYS),
  };
  server = await startAccountServer(env, { parts });
  const bus = await createBus({ url: parts.url, log: parts.log, name: 'second' });
  second = await startAccountServer(env, { parts: { ...parts, bus } });
});
after(async () => {
  await second.close();
  await second.bus.close();
  await server.close();
  await billing.close();
});

const api: AccountServer['api'] = (...request) => server.api(...request);

const refresh = (cookies: Record<string, string>) =>
  api('POST', '/v1/auth/refresh', { cookies, csrf: cookies.svc_csrf_token! });

const askBilling = (jwt: string) => billing.call('GET', '/v1/billing/cards', { jwt });

/** The uses of a JWT: it reads, it creates objects that outlive it, and it is valid in the other service. */
function uses(
  jwt: string,
): [name: string, ask: () => Promise<Pick<ApiAnswer, 'status' | 'body' | 'text'>>][] {
  return [
    ['a read in the process that ended it', () => api('GET', '/v1/users', { jwt })],
    ['a read in another process', () => second.api('GET', '/v1/users', { jwt })],
    ['a request to billing', () => askBilling(jwt)],
    ['a new API key', () => second.api('POST', '/v1/tokens', { jwt, body: { name: 'thief' } })],
    [
      'a new owner',
      () => second.api('POST', '/v1/users', { jwt, body: { email: newEmail(), name: 'Eve', role: 'owner' } }),
    ],
    ['a ticket', () => second.api('POST', '/v1/events/ticket', { jwt })],
    ['a stream', () => second.api('GET', '/v1/events/stream', { jwt })],
  ];
}

const streamUrl = (query = '') => `${second.baseUrl}/v1/events/stream${query}`;
async function newTicket(jwt: string): Promise<string> {
  const answer = await api('POST', '/v1/events/ticket', { jwt });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.ticket;
}

async function begin(): Promise<Held> {
  const owner = await newOwner(server);
  const person = await newMember(server, owner, 'owner');
  founder.set(person, owner);
  return hold(person, person);
}

async function hold(person: Person, first: { jwt: string; cookies: Record<string, string> }): Promise<Held> {
  const jwts = [first.jwt];
  const cookies = [first.cookies];
  for (let i = 0; i < 2; i += 1) {
    const answer = await refresh(cookies.at(-1)!);
    assert.equal(answer.status, 200, answer.text);
    jwts.push(answer.body.token);
    cookies.push(cookiesOf(answer));
  }
  return {
    person,
    jwts,
    cookies,
    tickets: await Promise.all(jwts.map(newTicket)),
    streams: await open(jwts),
  };
}

/** By header and by ticket, over both transports; afterwards every part that answers has the JWT in its cache. */
async function open(jwts: string[]): Promise<Held['streams']> {
  const streams: Held['streams'] = [];
  for (const [i, jwt] of jwts.entries()) {
    for (const [name, ask] of uses(jwt).slice(0, 3)) assert.equal((await ask()).status, 200, name);
    const byHeader = await readSse(streamUrl(), { authorization: `Bearer ${jwt}` });
    const byTicket = await readSse(streamUrl(`?ticket=${await newTicket(jwt)}`), {});
    assert.deepEqual([byHeader.status, byTicket.status], [200, 200]);
    streams.push({ name: `SSE of JWT ${i + 1}`, closed: byHeader.closed });
    streams.push({ name: `SSE by a ticket of JWT ${i + 1}`, closed: byTicket.closed });
    const url = `${second.baseUrl.replace('http', 'ws')}/v1/events/ws`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${jwt}` } });
    await once(socket, 'open');
    streams.push({ name: `WebSocket of JWT ${i + 1}`, closed: once(socket, 'close') });
  }
  return streams;
}

async function assertEnded(held: Held, { code, survivor }: Pick<Way, 'code' | 'survivor'>): Promise<void> {
  const { rows: before } = await server.db.query('SELECT id FROM api_tokens');
  for (const { closed } of held.streams) await closed;
  // The process that ended the session refuses at once. The second one learned of it when it closed its streams;
  // billing has none.
  for (const [i, jwt] of held.jwts.entries())
    if (i !== survivor) await waitFor(async () => (await askBilling(jwt)).status >= 400);
  for (const [i, jwt] of held.jwts.entries())
    for (const [name, ask] of i === survivor ? [] : uses(jwt)) {
      const { status, body, text } = await ask();
      assert.deepEqual([status >= 400, body?.error_code], [true, code], `JWT ${i + 1}, ${name}: ${text}`);
    }
  for (const [i, cookies] of held.cookies.entries()) {
    const answer = await refresh(cookies);
    assert.ok([401, 403].includes(answer.status), `refresh token ${i + 1}: ${answer.text}`);
  }
  for (const [i, ticket] of held.tickets.entries()) {
    const reader = await readSse(streamUrl(`?ticket=${ticket}`), {});
    assert.ok([401, 403].includes(reader.status), `ticket ${i + 1}: ${reader.status}`);
  }
  const { rows: left } = await server.db.query('SELECT id FROM api_tokens');
  assert.equal(left.length, before.length, 'no key was made');
}

describe('every credential of a session', () => {
  for (const way of WAYS)
    test(`ends with ${way.name}`, async () => {
      const held = await begin();
      const other = await logIn(server, held.person.email);
      const done = (await way.end(held)) as ApiAnswer;
      assert.ok(done.status < 300, done.text);
      await assertEnded(held, way);
      const { status } = await api('GET', '/v1/users', { jwt: other.body.token });
      assert.equal(status === 200, way.othersGoOn, `another session: ${status}`);
      if (way.survivor === undefined) return;
      const jwt = held.jwts[way.survivor]!;
      for (const [name, ask] of uses(jwt).slice(0, 6))
        assert.ok((await ask()).status < 300, `the JWT that goes on, ${name}`);
      await open([jwt]);
    });

  test('ends with the session’s last day, JWTs that were just refreshed included', async () => {
    const owner = await newOwner(server);
    const minuteMs = 60_000;
    server.clock.advance(SESSION_DAYS * 86_400_000 - 5 * minuteMs);
    const refreshed = await refresh(owner.cookies);
    assert.equal(refreshed.status, 200, refreshed.text);
    const held = await hold(owner, { jwt: refreshed.body.token, cookies: cookiesOf(refreshed) });
    server.clock.advance(5 * minuteMs);
    await assertEnded(held, { code: 'TOKEN_EXPIRED' });
  });
});

describe('the JWT that changed the password', () => {
  async function survivor(): Promise<{ person: Person; jwt: string }> {
    const person = await newMember(server, await newOwner(server), 'owner');
    const body = { current_password: PASSWORD, new_password: 'another horse battery' };
    assert.equal((await api('PATCH', '/v1/auth/me/password', { jwt: person.jwt, body })).status, 200);
    return { person: { ...person, password: body.new_password }, jwt: person.jwt };
  }

  const ends: Record<string, (of: { person: Person; jwt: string }) => Promise<ApiAnswer>> = {
    'its logout': ({ jwt }) => api('POST', '/v1/auth/logout', { jwt }),
    'the next password': async ({ person }) => {
      const { body } = await logIn(server, person.email, person.password);
      return api('PATCH', '/v1/auth/me/password', {
        jwt: body.token,
        body: { current_password: person.password, new_password: 'a third horse battery' },
      });
    },
    'a change of the e-mail': async ({ person }) => {
      const { body } = await logIn(server, person.email, person.password);
      const next = newEmail();
      const asked = { new_email: next, current_password: person.password };
      await api('POST', '/v1/auth/me/email/start', { jwt: body.token, body: asked });
      const code = codeIn(await server.lastMail(next));
      return api('POST', '/v1/auth/me/email/confirm', { jwt: body.token, body: { code } });
    },
  };
  for (const [name, end] of Object.entries(ends))
    test(`ends with ${name}`, async () => {
      const held = await survivor();
      for (const [use, ask] of uses(held.jwt).slice(0, 6)) assert.ok((await ask()).status < 300, use);
      assert.ok((await end(held)).status < 300);
      for (const [use, ask] of uses(held.jwt))
        await waitFor(async () => (await ask()).status === 401, undefined, { what: `${use} refused` });
    });
});

describe('the role of a user', () => {
  test('holds at once for JWTs of before, and for their streams', async () => {
    const held = await begin();
    const path = `/v1/users/${held.person.userId}`;
    const done = await api('PATCH', path, { jwt: founder.get(held.person)!.jwt, body: { role: 'agent' } });
    assert.equal(done.status, 200, done.text);
    for (const { closed } of held.streams) await closed;
    for (const jwt of held.jwts)
      for (const [name, ask] of uses(jwt).filter(([use]) => use.startsWith('a new owner')))
        assert.equal((await ask()).body.error_code, 'INSUFFICIENT_PERMISSIONS', name);
  });
});
