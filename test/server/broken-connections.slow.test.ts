import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { billingBodies } from '@posthorn/contract/examples/billing.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { startTestBilling, withProfile } from '../billing/billing-harness.ts';
import { type Answer, type Request, startTestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { paramKind, validBodies, validQueries } from './fixtures.ts';
import { seedIds } from './seed-ids.ts';

/** Routes that wait for the worker of the instance; none runs here. */
const WAIT_FOR_A_WORKER = ['queue.cancel', 'queue.clear', 'instances.pairingCode'];
const BREAKS_FOR_MS = 4_000;
const ASKERS = 24;
/** More than any pool has connections. */
const AT_ONCE = 12;

interface Service {
  db: Db;
  contract: Parameters<typeof listRoutes>[0];
  bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  call(method: string, path: string, request: Request): Promise<Answer>;
  makeAsker(): Promise<Asker>;
}

/** A company that makes the requests, with an id of its own for each parameter of a path. */
interface Asker {
  key: string;
  jwt(): Promise<string>;
  idOf(named: NamedRoute, param: string): string;
}

test('connections of messaging that break in the middle of requests', async (t) => {
  const api = await startTestMessaging();
  t.after(() => api.close());
  const { db } = api.parts;
  // The media of the rows below are not stored: without it the empty folder counts as a disk that is not mounted.
  await writeFile(path.join(api.config.DATA_DIR, 'media', '.storage'), '');
  const counts = await breakAndRecover({
    db,
    contract: messagingContract,
    bodies: validBodies,
    call: api.call,
    async makeAsker() {
      const company = await seedCompany(db);
      const ids = await seedIds(db, company, await seedCompany(db));
      // A request to the network would wait for a worker with a session.
      await db.query(`UPDATE instances SET state = 'DISCONNECTED' WHERE company_id = $1`, [
        company.companyId,
      ]);
      return {
        key: company.apiKey,
        jwt: () => api.jwtOf(company),
        idOf: ({ name }, param) => ids[paramKind(name, param)]!.own,
      };
    },
  });
  t.diagnostic(counts);
});

test('connections of billing that break in the middle of requests', async (t) => {
  const api = await startTestBilling();
  t.after(() => api.close());
  const counts = await breakAndRecover({
    db: api.parts.db,
    contract: billingContract,
    bodies: billingBodies,
    call: api.call,
    async makeAsker() {
      const payer = await withProfile(api);
      return { key: payer.apiKey, jwt: () => api.jwtOf(payer), idOf: () => '1' };
    },
  });
  t.diagnostic(counts);
});

/** Asserts that while connections break no route answers 500, and that afterwards each one answers. */
async function breakAndRecover(service: Service): Promise<string> {
  // Streams stay open, nobody here signs the body of a signed route, and documents and metrics need no database.
  const routes = listRoutes(service.contract).filter(
    ({ name, route }) =>
      !metaOf(route).isSigned &&
      !/^\/(docs|openapi|metrics)|\/stream$/.test(route.path) &&
      !WAIT_FOR_A_WORKER.includes(name),
  );
  const askers: Asker[] = [];
  for (let nth = 0; nth < ASKERS; nth += 1) askers.push(await service.makeAsker());
  const counts = new Map<number, number>();
  const faults: string[] = [];
  const untilMs = performance.now() + BREAKS_FOR_MS;
  async function askAtRandom(asker: Asker): Promise<void> {
    while (performance.now() < untilMs) {
      const named = routes[Math.floor(Math.random() * routes.length)]!;
      const { status, text } = await ask(service, named, asker);
      counts.set(status, (counts.get(status) ?? 0) + 1);
      if (status === 500) faults.push(`${named.name}: ${text}`);
    }
  }
  await Promise.all([...askers.map(askAtRandom), breakConnections(service.db, untilMs)]);
  assert.deepEqual(faults, []);
  assert.ok((counts.get(503) ?? 0) > 0, 'some requests met a broken connection');

  const asker = await waitFor(() => service.makeAsker());
  for (const named of routes.filter(({ route }) => route.method === 'GET')) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(service, named, asker)));
    assert.deepEqual(
      answers.filter(isUnavailable).map(({ text }) => text),
      [],
      named.name,
    );
  }
  return [...counts]
    .sort()
    .map(([status, n]) => `${n} times ${status}`)
    .join(', ');
}

function isUnavailable({ status, body }: Answer): boolean {
  return status === 500 || body?.error_code === 'SERVICE_UNAVAILABLE';
}

/** Ends half of the connections to the database again and again, as its restart or failover does. */
async function breakConnections(db: Db, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    await delay(400);
    await db
      .query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.5`,
      )
      .catch(() => undefined);
  }
}

async function ask(service: Service, named: NamedRoute, { key, jwt, idOf }: Asker): Promise<Answer> {
  const { name, route } = named;
  const { auth } = metaOf(route);
  const path = route.path.replace(/:(\w+)/g, (_, param: string) => encodeURIComponent(idOf(named, param)));
  const search = validQueries[name] ? `?${new URLSearchParams(validQueries[name])}` : '';
  return service.call(route.method, path + search, {
    ...(auth === 'any' && { key }),
    // Its session is written straight into the database, over a connection that may break too.
    ...(auth === 'jwt' && { jwt: await waitFor(jwt) }),
    headers: { 'idempotency-key': randomUUID() },
    ...(takesBody(route) && { body: service.bodies[name] }),
  });
}
