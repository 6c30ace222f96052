import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import type { AppRoute } from '@ts-rest/core';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiRequest, refused } from './support/api-client.ts';
import { databaseState } from './support/database-state.ts';
import { newOwner, PASSWORD, type Person } from './support/people.ts';
import { sampleBody } from './support/sample-body.ts';

/** A repeated request to delete a deleted account is answered, and changes nothing. */
const ANSWERED: Record<string, readonly string[]> = { suspended: [], deleted: ['auth.deleteAccount'] };

for (const status of ['suspended', 'deleted'] as const) {
  describe(`a ${status} company, on every route of the contract`, () => {
    let server: AccountServer;
    let owner: Person;
    /** Each is valid for one connection. */
    const tickets: string[] = [];
    /** The ids of its objects, by the parameter that names them. */
    let ids: Record<string, string>;
    let before_: Map<string, string>;
    before(async () => {
      server = await startAccountServer();
      owner = await newOwner(server);
      const { jwt } = owner;
      const instanceId = await seedInstance(server.db, owner.companyId, { state: 'DISCONNECTED' });
      const made = async (path: string, body: unknown) =>
        String((await server.api('POST', path, { jwt, body })).body.id);
      ids = {
        instanceId,
        webhookId: await made('/v1/webhooks', { url: 'https://hooks.example.test/' }),
        id: await made('/v1/tokens', {}),
      };
      for (const { route } of routes)
        if (metaOf(route).ticket)
          tickets.push((await server.api('POST', '/v1/events/ticket', { jwt })).body.ticket);
      await server.db.query('UPDATE companies SET status = $2 WHERE id = $1', [owner.companyId, status]);
      await server.db.query(`SELECT pg_notify('auth', $1)`, [`company:${owner.companyId}`]);
      await waitFor(async () => (await server.api('GET', '/v1/events', { jwt })).status === 403);
      before_ = await databaseState(server.db);
    });
    after(() => server.close());

    const routes = listRoutes(messagingContract).filter(({ route }) => metaOf(route).auth !== 'none');

    for (const { name, route } of routes) {
      const { auth } = metaOf(route);
      if (auth === 'refresh' || ANSWERED[status]!.includes(name)) continue;
      test(`403 COMPANY_SUSPENDED: ${name}`, async () => {
        for (const proof of proofsOf(route)) {
          const path = pathOf(route) + (proof.query ?? '');
          refused(
            await server.api(route.method, path, { ...requestOf(route), ...proof }),
            403,
            'COMPANY_SUSPENDED',
          );
        }
      });
    }

    function proofsOf(route: AppRoute): (ApiRequest & { query?: string })[] {
      const { auth, ticket: takesTicket } = metaOf(route);
      const cookie = { cookies: owner.cookies, csrf: owner.csrf };
      return [
        { jwt: owner.jwt },
        ...(auth === 'any' ? [{ key: owner.key }] : []),
        ...(auth === 'jwt_or_cookie' ? [cookie] : []),
        ...(takesTicket ? [{ query: `?ticket=${tickets.pop()}` }] : []),
      ];
    }

    function pathOf(route: AppRoute): string {
      return route.path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? randomUUID());
    }

    function requestOf(route: AppRoute): ApiRequest {
      const body = sampleBody(route);
      return {
        ...(body === undefined ? {} : { body }),
        headers: { 'idempotency-key': randomUUID(), 'x-force-send': 'true' },
      };
    }

    test('refreshing and logging in end the same', async () => {
      const { cookies, csrf, email } = owner;
      refused(await server.api('POST', '/v1/auth/refresh', { cookies, csrf }), 403, 'COMPANY_SUSPENDED');
      const login = await server.api('POST', '/v1/auth/login', { body: { email, password: PASSWORD } });
      refused(login, 403, status === 'deleted' ? 'ACCOUNT_DELETED' : 'COMPANY_SUSPENDED');
    });

    test('and nothing at all was changed', async () => {
      const after_ = await databaseState(server.db);
      // Requests are counted, and tickets are spent: neither says anything about the company.
      for (const counts of ['public.address_windows', 'public.spent_tickets', 'public.rate_windows']) {
        assert.ok(after_.delete(counts));
        before_.delete(counts);
      }
      assert.deepEqual(after_, before_);
    });
  });
}

describe('a company that is not there any more', () => {
  let server: AccountServer;
  let owner: Person;
  let ticket: string;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
    ticket = (await server.api('POST', '/v1/events/ticket', { jwt: owner.jwt })).body.ticket;
  });
  after(() => server.close());

  test('403 FORBIDDEN with its JWT and its ticket; its keys went with it', async () => {
    await server.db.query('DELETE FROM companies WHERE id = $1', [owner.companyId]);
    await server.db.query(`SELECT pg_notify('auth', $1)`, [`company:${owner.companyId}`]);
    const byJwt = () => server.api('GET', '/v1/events', { jwt: owner.jwt });
    await waitFor(async () => (await byJwt()).status === 403);
    const jwt = await byJwt();
    refused(jwt, 403, 'FORBIDDEN');
    assert.equal(jwt.body.message, 'company not found');
    refused(await server.api('GET', `/v1/events/stream?ticket=${ticket}`), 403, 'FORBIDDEN');
    refused(await server.api('GET', '/v1/events', { key: owner.key }), 401, 'TOKEN_INVALID');
  });

  test('503 SERVICE_UNAVAILABLE when it cannot be looked up, with every credential', async () => {
    const other = await newOwner(server);
    const fresh = (await server.api('POST', '/v1/events/ticket', { jwt: other.jwt })).body.ticket;
    await server.db.query('ALTER TABLE companies RENAME TO companies_away');
    await server.db.query(`SELECT pg_notify('auth', $1)`, [`company:${other.companyId}`]);
    try {
      const byJwt = () => server.api('GET', '/v1/events', { jwt: other.jwt });
      await waitFor(async () => (await byJwt()).status === 503);
      const answers = [
        await byJwt(),
        await server.api('GET', '/v1/events', { key: other.key }),
        await server.api('GET', `/v1/events/stream?ticket=${fresh}`),
      ];
      for (const answer of answers) {
        refused(answer, 503, 'SERVICE_UNAVAILABLE');
        assert.ok(answer.headers.get('retry-after'));
      }
    } finally {
      await server.db.query('ALTER TABLE companies_away RENAME TO companies');
    }
  });
});
