import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type ErrorCode, errorCatalogue, errorEnvelope } from '@posthorn/contract/errors.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { errorsOf, metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import { z } from 'zod/v4';
import { type Answer, type Request, startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { codesOfUnknown, paramKind, takesAny, validBodies, validQueries } from './fixtures.ts';
import { type Ids, seedIds, type Who, withRole } from './seed-ids.ts';

/**
 * Walks the contract: whatever is wrong with a request, every route answers as it documents, and nothing is queued. A
 * new route is walked too, and fails here until it has a fixture.
 */
const routes = listRoutes(messagingContract);

let api: TestMessaging;
let who: Who;
let ids: Ids;

before(async () => {
  api = await startTestMessaging({ SUPERADMIN_EMAILS: 'root@platform.test' });
  const owner = await seedCompany(api.parts.db);
  const admin = await withRole(api.parts.db, owner, 'admin');
  const agent = await withRole(api.parts.db, owner, 'agent');
  const unverified = await seedCompany(api.parts.db);
  await api.parts.db.query('UPDATE users SET email_verified_at = NULL WHERE id = $1', [unverified.userId]);
  const suspended = await seedCompany(api.parts.db);
  await api.parts.db.query(`UPDATE companies SET status = 'suspended' WHERE id = $1`, [suspended.companyId]);
  const revoked = await withRole(api.parts.db, owner, 'owner');
  await api.parts.db.query('UPDATE api_tokens SET revoked_at = now() WHERE id = $1', [
    revoked.principal.tokenId,
  ]);
  const root = await seedRoot();
  who = { owner, admin, agent, unverified, suspended, revoked, root };
  ids = await seedIds(api.parts.db, owner, await seedCompany(api.parts.db));
});

after(() => api.close());

async function seedRoot(): Promise<SeededCompany> {
  const { db } = api.parts;
  // The server makes this user at its start, from the addresses in SUPERADMIN_EMAILS.
  const { rows } = await db.query<{ id: number }>(`SELECT id FROM users WHERE email = 'root@platform.test'`);
  const userId = rows[0]!.id;
  const principal = {
    companyId: 1,
    userId,
    role: 'superadmin',
    isSuperadmin: true,
  } as SeededCompany['principal'];
  return { companyId: 1, userId, apiKey: '', principal };
}

for (const named of routes) {
  const { name, route } = named;
  const meta = metaOf(route);
  const authenticates = meta.auth === 'any' || meta.auth === 'jwt';

  describe(`${name} (${route.method} ${route.path})`, () => {
    if (authenticates) {
      test('asks for credentials', async () => {
        refused(named, await call(named, { key: '', jwt: '' }), 'UNAUTHORIZED');
        const badKey = `svc_${'0'.repeat(64)}`;
        refused(
          named,
          await call(named, { key: badKey, jwt: '' }),
          meta.auth === 'any' ? 'TOKEN_INVALID' : 'UNAUTHORIZED',
        );
        refused(named, await call(named, { key: '', jwt: 'not.a.jwt' }), 'TOKEN_INVALID');
        // An API key is no Bearer token (ACC-33).
        refused(named, await call(named, { key: '', jwt: who.owner.apiKey }), 'TOKEN_INVALID');
      });

      test('refuses a suspended company and a revoked key', async () => {
        refused(named, await call(named, await credentials(named, who.suspended)), 'COMPANY_SUSPENDED');
        if (meta.auth === 'any')
          refused(named, await call(named, { key: who.revoked.apiKey }), 'TOKEN_INVALID');
      });

      const wrong = { owner_admin: ['agent'], owner: ['agent', 'admin'], superadmin: ['owner'] } as Record<
        string,
        string[]
      >;
      if (wrong[meta.access]) {
        test('refuses roles that may not', async () => {
          for (const role of wrong[meta.access]!) {
            const answer = await call(named, await credentials(named, who[role as keyof Who]));
            refused(
              named,
              answer,
              meta.access === 'superadmin' ? 'SUPERADMIN_REQUIRED' : 'INSUFFICIENT_PERMISSIONS',
            );
          }
        });
      }

      if (meta.requiresVerifiedEmail) {
        test('waits for the e-mail to be verified', async () => {
          refused(named, await call(named, await credentials(named, who.unverified)), 'EMAIL_NOT_VERIFIED');
        });
      }
    }

    if (meta.operation) {
      test('needs an Idempotency-Key', async () => {
        const request = await good(named);
        refused(named, await call(named, { ...request, headers: {} }), 'IDEMPOTENCY_KEY_REQUIRED');
        const long = { 'idempotency-key': 'k'.repeat(256) };
        refused(named, await call(named, { ...request, headers: long }), 'BAD_REQUEST');
      });
    }

    // With a fallback, the use case judges a body of a wrong shape: test/accounts/listed-codes.slow.test.ts. The body of a
    // signed route is bytes until its signature was checked: test/cloud/webhooks.test.ts.
    if (takesBody(route) && meta.bodyCodes?.fallback === undefined && !meta.isSigned) {
      test('refuses a body of the wrong shape', () => refusesBodies(named));
    }
    if (route.query) {
      test('refuses a query of the wrong shape', () => refusesQueries(named));
    }
    for (const [, param] of route.path.matchAll(/:(\w+)/g)) {
      if (authenticates && !takesAny.has(`${name} ${param}`))
        test(`answers the same for any ${param} that is not there`, () => hidesForeign(named, param!));
    }
  });
}

test('nothing of all this was queued, stored or counted', async () => {
  const { db } = api.parts;
  for (const table of ['outbox', 'messages', 'idempotency_keys', 'events', 'webhook_deliveries']) {
    const { rows } = await db.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE true`);
    const seeded = ['messages', 'events', 'outbox'].includes(table) ? 2 : 0;
    assert.equal(rows[0]!.n, seeded, table);
  }
});

async function refusesBodies(named: NamedRoute): Promise<void> {
  const { route } = named;
  const valid = validBody(named);
  const request = await good(named);
  refused(named, await call(named, { ...request, body: undefined, raw: '{"a":' }), ...jsonCodes(named));
  const plain = { ...request.headers, 'content-type': 'text/plain' };
  refused(named, await call(named, { ...request, headers: plain }), malformedCode(named) ?? 'BAD_REQUEST');
  for (const body of [[], 'text', 5, null]) {
    const answer = await call(named, { ...request, body });
    assert.equal(answer.status, 400, `${named.name} takes ${JSON.stringify(body)}`);
    refused(named, answer);
  }
  const schema = z.toJSONSchema((route as unknown as { body: z.ZodType }).body, {
    io: 'input',
    unrepresentable: 'any',
  }) as Schema;
  for (const [field, property] of Object.entries(schema.properties ?? {})) {
    for (const value of valuesOfWrongType(property)) {
      const answer = await call(named, { ...request, body: { ...valid, [field]: value } });
      assert.equal(
        answer.status,
        400,
        `${named.name}: ${field} = ${JSON.stringify(value)} got ${answer.status}`,
      );
      refused(named, answer);
      assert.ok(
        answer.body.message.includes(field),
        `${named.name}: "${answer.body.message}" names ${field}`,
      );
    }
  }
  for (const field of schema.required ?? []) {
    const { [field]: _, ...without } = valid;
    const answer = await call(named, { ...request, body: without });
    assert.equal(answer.status, 400, `${named.name} without ${field}`);
    refused(named, answer);
    assert.ok(answer.body.message.includes(field), `${named.name}: "${answer.body.message}" names ${field}`);
  }
}

async function refusesQueries(named: NamedRoute): Promise<void> {
  const request = await good(named);
  const schema = z.toJSONSchema((named.route as unknown as { query: z.ZodType }).query, {
    io: 'input',
    unrepresentable: 'any',
  }) as Schema;
  for (const [field, property] of Object.entries(schema.properties ?? {})) {
    if (!typesOf(property).has('number') && !typesOf(property).has('integer') && !property.enum) continue;
    if (takesAny.has(`${named.name} ${field}`)) continue;
    const query = new URLSearchParams({ ...validQueries[named.name], [field]: 'no such value' });
    const answer = await call(named, request, {}, `?${query}`);
    assert.equal(answer.status, 400, `${named.name}: ?${field}=`);
    refused(named, answer);
  }
}

/** An unknown, a foreign and a misshapen id get an answer with the same status and the same bytes (ERR-9). */
async function hidesForeign(named: NamedRoute, param: string): Promise<void> {
  const kind = ids[paramKind(named.name, param)];
  assert.ok(kind, `seed-ids.ts has no ids for the parameter ${param} of ${named.name}`);
  const code = codesOfUnknown[`${named.name} ${param}`] ?? metaOf(named.route).notFound;
  assert.ok(code, `${named.name} says in its metadata what an unknown ${param} answers`);
  const request = await good(named);
  const answers = [];
  for (const id of [kind.unknown, ...kind.misshapen, ...(kind.foreign === null ? [] : [kind.foreign])]) {
    const answer = await call(named, request, { [param]: id });
    refused(named, answer, code);
    answers.push(faceOf(answer));
  }
  for (const face of answers) assert.deepEqual(face, answers[0]);
}

function faceOf({ status, headers, body }: Answer) {
  const changing = ['date', 'x-trace-id', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
  return {
    status,
    headers: [...headers].filter(([name]) => !changing.includes(name)),
    body: { ...body, trace_id: '' },
  };
}

/** Asserts a documented refusal in the envelope; with `codes`, one of these. */
function refused(named: NamedRoute, answer: Answer, ...codes: ErrorCode[]): void {
  const { name, route } = named;
  const envelope = errorEnvelope.safeParse(answer.body);
  assert.ok(
    envelope.success,
    `${name} answers ${answer.status} with the envelope: ${answer.text.slice(0, 200)}`,
  );
  const code = envelope.data.error_code as ErrorCode;
  assert.ok(errorsOf(route).includes(code), `${name} documents ${code}`);
  const { status, alsoStatuses = [] } = errorCatalogue[code] as { status: number; alsoStatuses?: number[] };
  assert.ok(
    [status, ...alsoStatuses].includes(answer.status),
    `${name}: ${code} is ${status}, not ${answer.status}`,
  );
  assert.equal(envelope.data.trace_id, answer.headers.get('x-trace-id'));
  assert.equal(envelope.data.error, envelope.data.message);
  if (codes.length > 0) assert.ok(codes.includes(code), `${name}: ${code} instead of ${codes.join(' or ')}`);
}

function jsonCodes(named: NamedRoute): ErrorCode[] {
  const codes = metaOf(named.route).bodyCodes;
  const malformed = malformedCode(named) ?? 'INVALID_JSON';
  return codes ? [codes.invalid, malformed] : [malformed];
}

/** The route's own code for an unreadable body. */
function malformedCode(named: NamedRoute): ErrorCode | undefined {
  return metaOf(named.route).bodyCodes?.malformed;
}

/** A valid request of an authorized caller, except for the part that the test spoils. */
async function good(named: NamedRoute): Promise<Request> {
  const { access } = metaOf(named.route);
  return {
    ...(await credentials(named, access === 'superadmin' ? who.root : who.owner)),
    headers: { 'idempotency-key': randomUUID() },
  };
}

async function credentials(named: NamedRoute, company: SeededCompany): Promise<Request> {
  const { auth } = metaOf(named.route);
  if (auth === 'none' || auth === 'refresh') return {};
  if (auth === 'any' && company.apiKey !== '') return { key: company.apiKey };
  return { jwt: await api.jwtOf(company, { isSuperadmin: company.principal.isSuperadmin }) };
}

function call(
  named: NamedRoute,
  request: Request,
  params: Record<string, string> = {},
  query?: string,
): Promise<Answer> {
  const { route, name } = named;
  const path = route.path.replace(/:(\w+)/g, (_, param: string) => {
    const kind = ids[paramKind(name, param)];
    assert.ok(kind, `seed-ids.ts has no ids for the parameter ${param} of ${name}`);
    return encodeURIComponent(params[param] ?? kind.own);
  });
  const search = query ?? (validQueries[name] ? `?${new URLSearchParams(validQueries[name])}` : '');
  const hasBody = 'body' in request || request.raw !== undefined || !takesBody(route);
  const body = hasBody ? {} : { body: validBody(named) };
  return api.call(route.method, path + search, {
    headers: { 'idempotency-key': randomUUID() },
    ...body,
    ...request,
  });
}

function validBody(named: NamedRoute): Record<string, unknown> {
  const body = validBodies[named.name];
  assert.ok(body, `fixtures.ts has a valid body of ${named.name}`);
  const parsed = (named.route as unknown as { body: z.ZodType }).body.safeParse(body);
  assert.ok(parsed.success, `the fixture of ${named.name} is valid: ${parsed.error?.message}`);
  return body;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
}

/** The JSON types that a schema accepts; empty when it accepts anything. */
function typesOf(schema: Schema): Set<string> {
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const own = [schema.type ?? []].flat();
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return new Set([
    ...own,
    ...values.map((value) => typeof value),
    ...parts.flatMap((part) => [...typesOf(part)]),
  ]);
}

function valuesOfWrongType(schema: Schema): unknown[] {
  const types = typesOf(schema);
  if (types.size === 0) return [];
  const candidates: [string[], unknown][] = [
    [['number'], 5.5],
    [['string'], 'no number, no list'],
    [['boolean'], true],
    [['array'], [{ no: 'such item' }]],
    [['object'], { no: { such: 'field' } }],
  ];
  return candidates.filter(([names]) => !names.some((name) => types.has(name))).map(([, value]) => value);
}
