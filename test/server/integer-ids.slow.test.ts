import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { billingBodies } from '@posthorn/contract/examples/billing.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import { jsonSchemaOf } from '@posthorn/openapi/json-schema.ts';
import type { z } from 'zod/v4';
import { startTestBilling, type TestBilling, withProfile } from '../billing/billing-harness.ts';
import { type Answer, type Request, startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { paramKind, validBodies, validQueries } from './fixtures.ts';
import { type Ids, seedIds } from './seed-ids.ts';

/**
 * Walks both contracts: no integer in a path, a query or a body is too large for its column of the database, and no
 * route answers 500.
 */
const BOUNDARIES = ['-9223372036854775809', '-2147483649', '-1', '0', '2147483647', '2147483648'];
for (const bits of [53n, 63n, 64n]) BOUNDARIES.push(String(2n ** bits - 1n), String(2n ** bits));

/** The requests to a service: valid bodies, and an id for each parameter of a path. */
interface Asked {
  call(method: string, path: string, request: Request): Promise<Answer>;
  credentials(named: NamedRoute): Promise<Request>;
  bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  idOf(named: NamedRoute, param: string): string;
}

let messaging: TestMessaging;
let billing: TestBilling;
let owner: SeededCompany;
let ids: Ids;
let payer: SeededCompany & { profileId: number };

before(async () => {
  messaging = await startTestMessaging({ SUPERADMIN_EMAILS: 'root@platform.test' });
  owner = await seedCompany(messaging.parts.db, { requestsPerMinute: 1_000_000 });
  ids = await seedIds(messaging.parts.db, owner, await seedCompany(messaging.parts.db));
  // No worker owns it: a call to its owner would wait for 15 s.
  await messaging.parts.db.query(`UPDATE instances SET state = 'DISCONNECTED'`);
  billing = await startTestBilling();
  payer = await withProfile(billing);
});

after(async () => {
  await messaging.close();
  await billing.close();
});

const askMessaging: Asked = {
  call: (...request) => messaging.call(...request),
  async credentials(named) {
    const { auth, access } = metaOf(named.route);
    if (access === 'superadmin') return { jwt: await rootJwt() };
    if (auth === 'jwt' || auth === 'jwt_or_cookie') return { jwt: await messaging.jwtOf(owner) };
    return auth === 'any' ? { key: owner.apiKey } : {};
  },
  bodies: validBodies,
  idOf: (named, param) => ids[paramKind(named.name, param)]!.own,
};

const askBilling: Asked = {
  call: (...request) => billing.call(...request),
  async credentials(named) {
    const { auth, access } = metaOf(named.route);
    if (access === 'superadmin') return { jwt: await billing.superadminJwt() };
    return auth === 'any' ? { key: payer.apiKey } : {};
  },
  bodies: {
    ...billingBodies,
    // Everything but the id is valid, so that the id reaches the database.
    'subscriptions.create': { plan_code: 'starter_monthly', billing_type: 'credit_card', card_id: 1 },
  },
  idOf: () => '1',
};

async function rootJwt(): Promise<string> {
  const { rows } = await messaging.parts.db.query<{ id: number }>(
    `SELECT id FROM users WHERE email = 'root@platform.test'`,
  );
  const root = { companyId: 1, userId: rows[0]!.id, principal: { role: 'superadmin' } };
  return messaging.jwtOf(root as SeededCompany, { isSuperadmin: true });
}

const services: [string, Asked, NamedRoute[]][] = [
  ['messaging', askMessaging, listRoutes(messagingContract)],
  ['billing', askBilling, listRoutes(billingContract)],
];
let asked = 0;

for (const [service, ask, routes] of services)
  describe(`${service} withstands the largest and smallest integers in`, () => {
    for (const named of routes) {
      const params = [...named.route.path.matchAll(/:(\w+)/g)].map(([, param]) => param!);
      const { query } = named.route;
      const queries = query ? integersOf(query as z.ZodType) : [];
      const body = takesBody(named.route) ? (named.route as unknown as { body: z.ZodType }).body : undefined;
      const fields = body ? integersOf(body) : [];
      if (params.length + queries.length + fields.length === 0) continue;
      test(`${named.name} (${[...params, ...queries, ...fields].join(', ')})`, async () => {
        for (const value of BOUNDARIES) {
          for (const param of params) await stands(ask, named, { params: { [param]: value } });
          for (const field of queries) await stands(ask, named, { query: { [field]: value } });
          for (const field of fields) await stands(ask, named, { body: { [field]: value } });
        }
      });
    }
  });

test('a card id too large for its column is 400 INVALID_JSON, an id of a path 400 INVALID_ID', async () => {
  const key = payer.apiKey;
  const body = { plan_code: 'starter_monthly', billing_type: 'credit_card', card_id: 2 ** 31 };
  const created = await billing.call('POST', '/v1/billing/subscriptions', { key, body });
  assert.deepEqual([created.status, created.body.error_code], [400, 'INVALID_JSON'], created.text);
  assert.match(created.body.message, /card_id/);
  for (const [id, status, code] of [
    [2 ** 31 - 1, 404, 'SUBSCRIPTION_NOT_FOUND'],
    [2 ** 31, 400, 'INVALID_ID'],
  ]) {
    const cancelled = await billing.call('POST', `/v1/billing/subscriptions/${id}/cancel`, { key, body: {} });
    assert.deepEqual([cancelled.status, cancelled.body.error_code], [status, code], cancelled.text);
  }
});

test('every kind of place was asked', () => assert.ok(asked > 1000, String(asked)));

async function stands(
  ask: Asked,
  named: NamedRoute,
  spoilt: {
    params?: Record<string, string>;
    query?: Record<string, string>;
    body?: Record<string, string>;
  },
): Promise<void> {
  const { route, name } = named;
  // An endless answer never ends.
  if (metaOf(route).raw === 'sse' || metaOf(route).raw === 'ws') return;
  const path = route.path.replace(/:(\w+)/g, (_, param: string) =>
    encodeURIComponent(spoilt.params?.[param] ?? ask.idOf(named, param)),
  );
  const search = new URLSearchParams({ ...validQueries[name], ...spoilt.query });
  const answer = await ask.call(route.method, search.size > 0 ? `${path}?${search}` : path, {
    ...(await ask.credentials(named)),
    headers: { 'idempotency-key': randomUUID() },
    ...(takesBody(route) ? { raw: withIntegers(ask.bodies[name] ?? {}, spoilt.body ?? {}) } : {}),
  });
  asked += 1;
  // A missing driver and a network that was not asked are 503, and a call to the network may fail.
  assert.ok(answer.status !== 500, `${name} ${JSON.stringify(spoilt)}: ${answer.text.slice(0, 300)}`);
}

/** The body as JSON, with the integers in full length: JavaScript would round them as numbers. */
function withIntegers(body: object, integers: Record<string, string>): string {
  const marked = structuredClone(body) as Record<string, unknown>;
  for (const path of Object.keys(integers)) place(marked, path.split('.'), `#${integers[path]}#`);
  return JSON.stringify(marked).replace(/"#(-?\d+)#"/g, '$1');
}

function place(into: Record<string, unknown>, [step = '', ...rest]: string[], value: unknown): void {
  const isList = step.endsWith('[]');
  const name = step.replace('[]', '');
  if (rest.length === 0) {
    into[name] = isList ? [value] : value;
    return;
  }
  const inner = isList ? (into[name] as unknown[] | undefined)?.[0] : into[name];
  const child = { ...(inner as object | undefined) } as Record<string, unknown>;
  place(child, rest, value);
  into[name] = isList ? [child] : child;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

/** The fields that accept a number: `card_id`, `log_ids[]`, `addons[].quantity`. */
function integersOf(schema: z.ZodType): string[] {
  return [...new Set(numbersIn(jsonSchemaOf(schema, 'input') as Schema, ''))];
}

function numbersIn(schema: Schema, path: string): string[] {
  const types = [schema.type ?? []].flat();
  const own = path !== '' && (types.includes('integer') || types.includes('number')) ? [path] : [];
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...own,
    ...parts.flatMap((part) => numbersIn(part, path)),
    ...(schema.items ? numbersIn(schema.items, `${path}[]`) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      numbersIn(field, path === '' ? name : `${path}.${name}`),
    ),
  ];
}
