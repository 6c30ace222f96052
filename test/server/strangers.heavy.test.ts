import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { createRateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import { startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { validBodies } from './fixtures.ts';

const LIMIT = 5;
/** Machines request the probes of the process, which cost next to nothing. */
const PROBE_LIMIT = 30 * LIMIT;
const FLOOD = 20;
const CLIENTS = 4;

const SERVICES = [
  ['messaging', messagingContract],
  ['billing', billingContract],
] as const;

interface Asked {
  status: number;
  headers: Headers;
  code: string | undefined;
}

let messaging: TestMessaging;
let billing: TestBilling;
let company: SeededCompany;
before(async () => {
  messaging = await startTestMessaging({
    PUBLIC_RATE_PER_MINUTE: String(LIMIT),
    TRUSTED_PROXIES: '127.0.0.1',
  });
  billing = await startTestBilling({ publicPerMinute: LIMIT });
  company = await seedCompany(messaging.parts.db);
  // The first request of each kind to a process is slow, and must not be measured.
  for (const [service, contract] of SERVICES)
    for (const each of open(contract)) await asking(service, each, newAddress());
  for (let i = 0; i < 20; i += 1) await messaging.call('GET', '/v1/events?limit=1', { key: company.apiKey });
});
after(async () => {
  await messaging.close();
  await billing.close();
});

const open = (contract: Parameters<typeof listRoutes>[0]) =>
  listRoutes(contract).filter(({ route }) => ['none', 'refresh'].includes(metaOf(route).auth));

function asking(
  service: 'messaging' | 'billing',
  { name, route }: NamedRoute,
  address: string,
): Promise<Asked> {
  const path = route.path.replace(':provider', 'github').replaceAll(/:\w+/g, '1');
  const headers: Record<string, string> = { 'x-forwarded-for': address };
  if (metaOf(route).auth === 'refresh') {
    headers.cookie = 'svc_refresh_token=nobodys; svc_csrf_token=x';
    headers['x-csrf-token'] = 'x';
  }
  const body = 'body' in route && typeof route.body === 'object' ? (validBodies[name] ?? {}) : undefined;
  const { url } = service === 'messaging' ? messaging : billing;
  return ask(url + path, {
    method: route.method,
    redirect: 'manual',
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

async function ask(url: string, init: RequestInit): Promise<Asked> {
  const { status, headers, ...response } = await fetch(url, init).then(async (answer) => ({
    status: answer.status,
    headers: answer.headers,
    text: await answer.text(),
  }));
  return { status, headers, code: status < 400 ? undefined : JSON.parse(response.text).error_code };
}

/** Sends so many at a time: this process is both the flood and the server that it hits. */
async function flood(times: number, one: (i: number) => Promise<Asked>): Promise<Asked[]> {
  const answers: Asked[] = [];
  let next = 0;
  const client = async () => {
    for (let i = next++; i < times; i = next++) answers.push(await one(i));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return answers;
}

/** The requests of another company, from another address, meanwhile. */
function probe<T>(hostile: () => Promise<T>) {
  const target = { url: `${messaging.url}/v1/events?limit=1`, headers: { 'x-api-key': company.apiKey } };
  return probeWhile(target, hostile);
}

let addresses = 0;
/** An address that no test has used before. */
function newAddress(): string {
  addresses += 1;
  return `198.51.${addresses >> 8}.${addresses & 255}`;
}

describe('a flood of one address', () => {
  for (const [service, contract] of SERVICES)
    test(`on any route of ${service} without a credential is refused, and nobody else`, async () => {
      const floods = open(contract).map((each) => ({ each, address: newAddress() }));
      // Requests within the limit are normal traffic, with all the work that it causes.
      for (const { each, address } of floods) {
        const within = await flood(limitOf(each), () => asking(service, each, address));
        assert.ok(
          within.every(({ status }) => status !== 429),
          `${each.name}: refused within its limit`,
        );
      }
      const { result, probed } = await probe(async () => {
        const all: { name: string; answers: Asked[] }[] = [];
        for (const { each, address } of floods)
          all.push({ name: each.name, answers: await flood(FLOOD, () => asking(service, each, address)) });
        return all;
      });
      assertUnhurt(probed, `floods of ${service}`);
      for (const { name, answers } of result)
        for (const { status, code, headers } of answers) {
          assert.deepEqual([status, code], [429, 'RATE_LIMITED'], name);
          const seconds = Number(headers.get('retry-after'));
          assert.ok(seconds >= 1 && seconds <= 60, `${name}: Retry-After ${seconds}`);
        }
      for (const { each } of floods)
        assert.notEqual(
          (await asking(service, each, newAddress())).status,
          429,
          `${each.name}: another address`,
        );
    });

  const limitOf = ({ route }: NamedRoute) => (metaOf(route).probe ? PROBE_LIMIT : LIMIT);
});

describe('proofs that fail', () => {
  const unknownKey = (i: number) => `svc_${String(i).padStart(64, '0')}`;

  test('a burst of unknown keys is looked up as often as the limit allows, and then refused', async () => {
    const address = newAddress();
    const tokens = (key: string) =>
      ask(`${messaging.url}/v1/tokens`, { headers: { 'x-api-key': key, 'x-forwarded-for': address } });
    const { result, probed } = await probe(() => flood(FLOOD, (i) => tokens(unknownKey(i))));
    const looked = result.filter(({ status }) => status === 401).length;
    assert.ok(looked >= 1 && looked <= 2 * LIMIT, `${looked} looked up`);
    assert.equal(result.filter(({ status }) => status === 429).length, FLOOD - looked);
    assertUnhurt(probed, 'unknown keys');
    // A client that has proven a key here before is not taken for the one who guesses.
    assert.equal((await tokens(company.apiKey)).status, 200);
  });

  test('forged tokens and tickets count as well', async () => {
    for (const request of [
      { path: '/v1/tokens', headers: { authorization: 'Bearer a.b.c' } as Record<string, string> },
      { path: '/v1/events?ticket=a.b', headers: {} },
      { path: '/v1/events/stream?ticket=a.b', headers: {} },
    ]) {
      const headers = { ...request.headers, 'x-forwarded-for': newAddress() };
      const answers = await Promise.all(
        Array.from({ length: 3 * LIMIT }, () => messaging.call('GET', request.path, { headers })),
      );
      const kinds = new Set(answers.map(({ status }) => status));
      if (request.path.startsWith('/v1/events?')) assert.deepEqual([...kinds], [401]);
      else assert.ok(kinds.has(429), request.path);
    }
  });

  test('a burst of good keys from one address passes', async () => {
    const companies = await Promise.all(
      Array.from({ length: 3 * LIMIT }, () => seedCompany(messaging.parts.db)),
    );
    const headers = { 'x-forwarded-for': newAddress() };
    const answers = await Promise.all(
      companies.map(({ apiKey }) => messaging.call('GET', '/v1/tokens', { key: apiKey, headers })),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  });

  test('a token that has merely expired costs its address nothing', async () => {
    const headers = { 'x-forwarded-for': newAddress() };
    const jwt = await messaging.jwtOf(company);
    messaging.parts.clock.advance(16 * 60_000);
    for (let i = 0; i < 2 * LIMIT; i += 1)
      assert.equal(
        (await messaging.call('GET', '/v1/tokens', { jwt, headers })).body.error_code,
        'TOKEN_EXPIRED',
      );
    const { apiKey } = await seedCompany(messaging.parts.db);
    assert.equal((await messaging.call('GET', '/v1/tokens', { key: apiKey, headers })).status, 200);
  });

  test('a wrong secret of the payment provider counts, the right one never', async () => {
    const deliver = (secret: string, address: string) =>
      billing.call('POST', '/v1/webhooks/asaas', {
        headers: { 'asaas-access-token': secret, 'x-forwarded-for': address },
        body: {},
      });
    const address = newAddress();
    const answers = await Promise.all(Array.from({ length: 3 * LIMIT }, () => deliver('wrong', address)));
    assert.ok(answers.some(({ status }) => status === 429));
  });

  test('a refresh that was given up while it waited for its turn is not looked up, and keeps no turn', async () => {
    const address = newAddress();
    const gaveUp = new AbortController();
    const refresh = (signal?: AbortSignal) =>
      fetch(`${messaging.url}/v1/auth/refresh`, {
        method: 'POST',
        ...(signal && { signal }),
        headers: {
          'x-forwarded-for': address,
          cookie: 'svc_refresh_token=nobodys; svc_csrf_token=x',
          'x-csrf-token': 'x',
        },
      });
    const { pool } = messaging.parts.db;
    const lock = await pool.connect();
    await lock.query('BEGIN; LOCK TABLE refresh_tokens');
    const given = Array.from({ length: 2 * LIMIT }, () =>
      refresh(gaveUp.signal).catch((err: Error) => err.name),
    );
    await waitFor(async () => {
      const { rows } = await lock.query<{ waiting: number }>(
        `SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted AND relation = 'refresh_tokens'::regclass`,
      );
      return rows[0]!.waiting > 0;
    });
    await delay(500);
    gaveUp.abort();
    assert.ok((await Promise.all(given)).every((name) => name === 'AbortError'));
    await lock.query('ROLLBACK');
    lock.release();
    assert.equal((await refresh()).status, 401);
  });
});

describe('one budget of requests', () => {
  test('is spent by messaging and billing together', async () => {
    const { db, clock } = billing.parts;
    const { companyId } = await seedCompany(db);
    const limiters = [createRateLimiter({ db, clock }), createRateLimiter({ db: billing.billing.db, clock })];
    let allowed = 0;
    for (let i = 0; i < 40; i += 1)
      for (const limiter of limiters) if ((await limiter.take(companyId, 60)).allowed) allowed += 1;
    assert.equal(allowed, 60);
  });
});
