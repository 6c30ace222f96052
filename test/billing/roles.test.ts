import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { metaOf, type RouteAccess } from '@posthorn/contract/route-meta.ts';
import { databaseState } from '../accounts/support/database-state.ts';
import { sampleBody } from '../accounts/support/sample-body.ts';
import type { Answer } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { startTestBilling, type TestBilling } from './billing-harness.ts';

/** The access of each route; a route without a line here fails the test below. */
const GRANTS: [RegExp, RouteAccess][] = [
  [/^GET \/(health|ready|metrics|openapi\.json|docs|docs\/reference\.js)$/, 'public'],
  [/^GET \/v1\/billing\/(plans|addons)$/, 'public'],
  [/^POST \/v1\/webhooks\/asaas$/, 'public'],
  [/^\w+ \/v1\/billing\/admin\//, 'superadmin'],
  [/^GET \/v1\/billing\/(profile|subscriptions\/current|cards|charges)$/, 'owner_admin'],
  [/^(POST|PATCH|DELETE) \/v1\/billing\/(profile|subscriptions|cards|simulator)\b/, 'owner'],
];

type RoleName = 'owner' | 'admin' | 'agent' | 'superadmin';
const ALLOWED: Record<RouteAccess, readonly RoleName[]> = {
  public: ['owner', 'admin', 'agent', 'superadmin'],
  all: ['owner', 'admin', 'agent', 'superadmin'],
  owner_admin: ['owner', 'admin', 'superadmin'],
  owner: ['owner', 'superadmin'],
  superadmin: ['superadmin'],
};

describe('roles, on every route of the billing contract', () => {
  let billing: TestBilling;
  const people = new Map<RoleName, { jwt: string; key?: string; company?: SeededCompany }>();
  before(async () => {
    billing = await startTestBilling();
    for (const role of ['owner', 'admin', 'agent'] as const) {
      const company = await seedCompany(billing.parts.db, { role });
      people.set(role, { company, key: company.apiKey, jwt: await billing.jwtOf(company) });
    }
    people.set('superadmin', { jwt: await billing.superadminJwt() });
  });
  after(() => billing.close());

  const routes = listRoutes(billingContract);

  it('match the grants of the reference', () => {
    const wrong = routes.filter(({ route }) => {
      const line = `${route.method} ${route.path}`;
      return metaOf(route).access !== GRANTS.find(([pattern]) => pattern.test(line))?.[1];
    });
    assert.deepEqual(
      wrong.map(({ name, route }) => `${name}: ${metaOf(route).access}`),
      [],
    );
  });

  for (const { name, route } of routes) {
    const meta = metaOf(route);
    if (meta.access === 'public') continue;
    for (const role of ['owner', 'admin', 'agent', 'superadmin'] as const) {
      const allowed = ALLOWED[meta.access].includes(role);
      it(`${role} ${allowed ? 'may' : 'may not'}: ${name}`, async () => {
        const { jwt, key } = people.get(role)!;
        const body = sampleBody(route);
        const path = route.path.replace(/:\w+/g, '99999999');
        for (const proof of [{ jwt }, ...(meta.auth === 'any' && key ? [{ key }] : [])]) {
          const before = allowed ? null : await databaseState(billing.parts.db);
          const answer = await billing.call(route.method, path, {
            ...proof,
            ...(body === undefined ? {} : { body }),
          });
          if (allowed) {
            assert.notEqual(answer.status, 403, answer.text);
            continue;
          }
          refusedInFull(
            answer,
            meta.access === 'superadmin' ? 'SUPERADMIN_REQUIRED' : 'INSUFFICIENT_PERMISSIONS',
          );
          assert.deepEqual(without(await databaseState(billing.parts.db)), without(before!));
        }
      });
    }
  }

  it('counts from the next request on, when a role changes in the middle of a session', async () => {
    const { company, jwt, key } = people.get('owner')!;
    const change = (role: string) =>
      billing.parts.db.query(
        `WITH changed AS (UPDATE users SET role = $2 WHERE id = $1) SELECT pg_notify('auth', 'user:' || $1::text)`,
        [company!.userId, role],
      );
    const answers = () =>
      Promise.all(
        [{ jwt }, { key }].map((proof) => billing.call('DELETE', '/v1/billing/cards/1', proof as object)),
      );
    for (const { status } of await answers()) assert.equal(status, 204);
    const byJwt = async () => (await answers())[0]!.status;
    await change('admin');
    await waitFor(async () => (await byJwt()) === 403);
    for (const answer of await answers()) refusedInFull(answer, 'INSUFFICIENT_PERMISSIONS');
    await change('owner');
    await waitFor(async () => (await byJwt()) === 204);
    for (const { status } of await answers()) assert.equal(status, 204);
  });
});

/** Requests are counted whatever their result. */
function without(state: Map<string, string>): Map<string, string> {
  return new Map([...state].filter(([table]) => !table.endsWith('.rate_windows')));
}

/** Asserts that a refusal of the gate has the envelope of the main service. */
function refusedInFull(answer: Answer, code: string): void {
  assert.equal(answer.status, 403, answer.text);
  assert.equal(answer.body.error_code, code);
  assert.equal(answer.body.error, answer.body.message);
  assert.match(answer.body.trace_id, /^[0-9a-f-]{36}$/);
  assert.equal(answer.headers.get('x-trace-id'), answer.body.trace_id);
}
