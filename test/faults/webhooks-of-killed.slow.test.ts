import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { tellFigure } from '../support/figures.ts';
import type { Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import { emitEvents, percentile, startReceiver } from '../webhooks/support.ts';
import { knownWorkers } from './hurt-workers.ts';
import { useSystem } from './use-system.ts';

const KILLS = sized(1, 1, 10);
const AIM_MS = 5_000;
/** Within this time no delivery can have waited for the end of its lease, which is 60 s. */
const NEVER_MS = 40_000;
/** An attempt without an answer is given up after 15 s: the kill comes before. */
const BURSTS_MAX_MS = 6_000;

test(`a worker killed ${KILLS} times with deliveries in its hands: they are made within seconds, none is lost`, async (t) => {
  const system = await useSystem(t, { workers: 2 });
  const { companyId } = await seedCompany(system.db);
  const log = createLog({ level: 'silent', role: 'test' });
  const bus = await createBus({ url: system.env.DATABASE_URL!, log, name: 'test' });
  t.after(() => bus.close());
  const arrivedAt = new Map<string, number>();
  // The receiver does not answer until the worker is killed, so that the killed one has many attempts under way.
  let killed = Promise.withResolvers<void>();
  const receiver = await startReceiver(
    (req, res) => {
      const id = String(req.headers['webhook-id']);
      void killed.promise.then(() => {
        // The sender of this attempt is dead, so nobody will ever know that it was made.
        if (req.socket.destroyed) return;
        if (!arrivedAt.has(id)) arrivedAt.set(id, performance.now());
        res.end('ok');
      });
    },
    { keep: false },
  );
  t.after(() => receiver.close());
  const cipher = createCipher(system.env.ENCRYPTION_KEY!);
  await system.db.query(
    `INSERT INTO webhooks (company_id, url, patterns, enabled, secret) VALUES ($1, $2, '{*}', true, $3)`,
    [companyId, receiver.url, cipher.seal(`whsec_${Buffer.alloc(24, 7).toString('base64')}`)],
  );
  const emitted: string[] = [];
  const waits: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    killed = Promise.withResolvers();
    const sinceMs = performance.now();
    for (let burst = 0; burst < 20 && performance.now() - sinceMs < BURSTS_MAX_MS; burst += 1) {
      const events = await emitEvents({ db: system.db, bus } as Parts, companyId, 20);
      emitted.push(...events.map(({ eventId }) => eventId));
      await delay(50);
    }
    const busy = await waitFor(
      async () => {
        const { rows } = await system.db.query<{ claimed_by: number; ids: string[] }>(
          `SELECT claimed_by, array_agg(event_id::text) AS ids FROM webhook_deliveries
           WHERE claimed_by IS NOT NULL GROUP BY claimed_by ORDER BY count(*) DESC LIMIT 1`,
        );
        return rows[0];
      },
      60_000,
      { what: 'a worker has deliveries in its hands', everyMs: 5 },
    );
    const victim = (await knownWorkers(system)).find(({ id }) => id === busy.claimed_by)!.process;
    await victim.kill('SIGKILL');
    const killedAt = performance.now();
    killed.resolve();
    await waitFor(
      async () =>
        (await system.db.query('SELECT 1 FROM webhook_deliveries LIMIT 1')).rows.length === 0 &&
        emitted.every((id) => arrivedAt.has(id)),
      120_000,
      { what: `all deliveries are made after kill ${kill}`, everyMs: 100 },
    );
    for (const id of busy.ids) if (arrivedAt.get(id)! > killedAt) waits.push(arrivedAt.get(id)! - killedAt);
    await victim.restart();
  }
  assert.ok(waits.length > 0);
  const p99 = percentile(waits, 0.99);
  tellFigure(`p99 of ${waits.length} deliveries that a killed worker had`, p99, { atMost: AIM_MS });
  assert.ok(Math.max(...waits) < NEVER_MS, 'none waited for the end of its lease');
});
