import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createShutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { newWorkerTag, startMembership } from '@posthorn/worker/ownership/membership.ts';
import { startShardOwner } from '@posthorn/worker/ownership/shard-owner.ts';
import { openWorkerRoles } from '@posthorn/worker/roles.ts';
import { drain } from '../../admin/commands/drain.ts';
import { testConfig } from '../support/config.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** A worker that has nothing but shards. */
function startOther() {
  const { url: databaseUrl, log } = parts;
  const membership = startMembership({ databaseUrl, log, name: 'other', tag: newWorkerTag() });
  const owner = startShardOwner({ membership, log, onAcquire() {}, async onRelease() {} });
  return {
    owned: () => owner.owned().length,
    async stop() {
      await owner.stop();
      await membership.stop();
    },
  };
}

test('a worker that is drained while it starts takes no instances afterwards', async (t) => {
  const other = startOther();
  t.after(() => other.stop());
  await waitFor(() => other.owned() === 32);
  const shutdown = createShutdown({ log: parts.log, graceMs: 10_000 });
  t.after(() => shutdown.begin('the test is over'));
  const roles = await openWorkerRoles({
    ...{ log: parts.log, clock: parts.clock, bus: parts.bus, broker: createInProcessBroker(), shutdown },
    config: testConfig({ DATABASE_URL: parts.url }),
    metrics: createMetrics(),
  });
  let started: Promise<void> | undefined;
  await parts.db.transaction(async (sql) => {
    // Its start waits here, and it is registered already.
    await sql.query('LOCK TABLE network_drivers');
    started = roles.start();
    const starting = await waitFor(async () => {
      const { rows } = await parts.db.query<{ id: number }>(`SELECT id FROM workers WHERE name <> 'other'`);
      return rows[0];
    });
    assert.equal(
      await drain.prepare([String(starting.id)])({ ...parts, tell: () => undefined } as never),
      true,
    );
  });
  await started;
  await delay(3_000);
  assert.equal(other.owned(), 32);
});
