import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, type RouteAccess } from '@posthorn/contract/route-meta.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { createApi, refused } from './support/api-client.ts';
import { logIn, newMember, newOwner, type Person } from './support/people.ts';
import { newSuperadmin, ROOT_EMAIL } from './support/superadmin.ts';

/** ACC-37, by path: the access that the contract must declare for each route. The first match counts. */
const SPEC_ACCESS: [RegExp, RouteAccess][] = [
  [/^\/(health|ready|metrics)$/, 'public'],
  // ERR-25: the documents of the API are for everybody.
  [/^\/(openapi\.json|docs|docs\/reference\.js)$/, 'public'],
  [/^\/v1\/auth\/(logout|me\b|verify-email)/, 'all'],
  [/^\/v1\/auth\//, 'public'],
  [/^\/v1\/admin\//, 'superadmin'],
  [/^\/v1\/(feedback|playground|usage)\b/, 'all'],
  [/^\/v1\/(tokens|users|audit)\b/, 'owner'],
  // WHK-25 and INS-21: usage and delivery views for any role; the webhooks themselves, and replaying, for owner and admin.
  [
    /^\/v1\/webhooks\/(instance-events|events|instance-metrics|metrics|company-delivery-logs|delivery-logs|stuck)$/,
    'all',
  ],
  [/^\/v1\/event-deliveries$/, 'all'],
  [/^\/v1\/webhooks\/whatsapp-cloud\b/, 'public'],
  [/^\/v1\/webhooks\b/, 'owner_admin'],
  [/^\/v1\/events\b/, 'all'],
  [
    /^\/v1\/instances\/:instanceId\/(labels|(chats|messages)\/:\w+\/labels|notes|chats\/:\w+\/notes|queue|business|catalog)\b/,
    'owner_admin',
  ],
  // Everybody stores and reads media; only owners and admins delete it (MED-22).
  [/^DELETE \/v1\/instances\/:instanceId\/media\b/, 'owner_admin'],
  [/^\/v1\/instances\/:instanceId\/status\/(privacy|:statusId\/views)$/, 'owner_admin'],
  [
    /^\/v1\/instances\/:instanceId\/(message|messages|media|usage|chats|contacts|lids|groups|presence|profile|status)\b/,
    'all',
  ],
  [/^\/v1\/instances\b/, 'owner_admin'],
];

type RoleName = 'owner' | 'admin' | 'agent' | 'superadmin';
const ALLOWED: Record<RouteAccess, readonly RoleName[]> = {
  public: ['owner', 'admin', 'agent', 'superadmin'],
  all: ['owner', 'admin', 'agent', 'superadmin'],
  owner_admin: ['owner', 'admin', 'superadmin'],
  owner: ['owner', 'superadmin'],
  superadmin: ['superadmin'],
};
const REFUSALS = ['INSUFFICIENT_PERMISSIONS', 'SUPERADMIN_REQUIRED'];

describe('roles, on every route of the contract', () => {
  let server: AccountServer;
  let people: Record<RoleName, Person>;
  before(async () => {
    server = await startAccountServer({ SUPERADMIN_EMAILS: ROOT_EMAIL });
    const owner = await newOwner(server);
    const admin = await newMember(server, owner, 'admin');
    const agent = await newMember(server, owner, 'agent');
    people = { owner, admin, agent, superadmin: await newSuperadmin(server) };
    for (const member of [admin, agent]) member.key = await keyOf(server, owner, member);
  });
  after(() => server.close());

  const routes = listRoutes(messagingContract);

  test('the contract grants what ACC-37 grants', () => {
    const wrong = routes.filter(({ route }) => {
      const expected = SPEC_ACCESS.find(
        ([path]) => path.test(route.path) || path.test(`${route.method} ${route.path}`),
      )?.[1];
      return metaOf(route).access !== expected;
    });
    assert.deepEqual(
      wrong.map(({ name, route }) => `${name} ${route.path}: ${metaOf(route).access}`),
      [],
    );
  });

  for (const { name, route } of routes) {
    const meta = metaOf(route);
    // Public routes check nobody; a logout would end the sessions of this very table.
    if (meta.access === 'public' || name === 'auth.logout') continue;
    const path = route.path.replace(/:(\w+)/g, (_, param: string) =>
      /^(id|webhookId|userId|logId|companyId)$/.test(param) ? '99999999' : randomUUID(),
    );
    for (const role of ['owner', 'admin', 'agent', 'superadmin'] as const) {
      const allowed = ALLOWED[meta.access].includes(role);
      test(`${role} ${allowed ? 'may' : 'may not'}: ${name}`, async () => {
        const proofs = [
          { jwt: people[role].jwt },
          ...(meta.auth === 'any' ? [{ key: people[role].key }] : []),
        ];
        for (const proof of proofs) {
          // The role is checked before the body is read, so no body is needed.
          const answer = await head(server, route.method, path, proof);
          if (allowed) assert.ok(!REFUSALS.includes(answer.code ?? ''), `${answer.status} ${answer.code}`);
          else {
            assert.equal(answer.status, 403);
            assert.equal(
              answer.code,
              meta.access === 'superadmin' ? 'SUPERADMIN_REQUIRED' : 'INSUFFICIENT_PERMISSIONS',
            );
          }
        }
      });
    }
  }

  test('OWNER_ONLY: deleting the account and renaming the company', async () => {
    for (const role of ['admin', 'agent'] as const) {
      const { jwt, password } = people[role];
      const deletion = { jwt, body: { current_password: password } };
      refused(await server.api('DELETE', '/v1/auth/me/account', deletion), 403, 'OWNER_ONLY');
      refused(
        await server.api('PATCH', '/v1/auth/me', { jwt, body: { company_name: 'Ours' } }),
        403,
        'OWNER_ONLY',
      );
    }
  });
});

/** A key that acts as the member: made while they were an owner. */
async function keyOf(server: AccountServer, owner: Person, member: Person): Promise<string> {
  const path = `/v1/users/${member.userId}`;
  const { role } = (await logIn(server, member.email)).body;
  await server.api('PATCH', path, { jwt: owner.jwt, body: { role: 'owner' } });
  const made = await server.api('POST', '/v1/tokens', { jwt: member.jwt, body: {} });
  await server.api('PATCH', path, { jwt: owner.jwt, body: { role } });
  return made.body.token;
}

/** Status and code of an answer; a stream is closed as soon as it begins. */
async function head(
  server: AccountServer,
  method: string,
  path: string,
  proof: { jwt?: string; key?: string },
): Promise<{ status: number; code: string | null }> {
  if (path !== '/v1/events/stream') {
    const answer = await createApi(server.baseUrl)(method, path, proof);
    return { status: answer.status, code: answer.body?.error_code ?? null };
  }
  const leave = new AbortController();
  const response = await fetch(server.baseUrl + path, {
    headers: proof.jwt ? { authorization: `Bearer ${proof.jwt}` } : { 'x-api-key': proof.key! },
    signal: leave.signal,
  });
  const code = response.ok ? null : ((await response.json()) as { error_code: string }).error_code;
  leave.abort();
  return { status: response.status, code };
}
