import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { measureBacklog } from '@posthorn/core/operations/measure-backlog.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { tellFigure } from '@posthorn/test/support/figures.ts';
import { createParts, type Parts } from '@posthorn/test/support/parts.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import { showBacklog } from '@posthorn/worker/show-backlog.ts';

/** Sends that were accepted `ageS` ago and are not finished. */
async function seedUnsent(parts: Parts, instanceId: string, count: number, ageS: number): Promise<void> {
  await parts.db.query(
    `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, created_at)
     SELECT gen_random_uuid(), company_id, id, shard, 'text', now() - make_interval(secs => $3)
     FROM instances, generate_series(1, $2) WHERE id = $1`,
    [instanceId, count, ageS],
  );
}

describe('the backlog in the metrics of a worker', () => {
  let parts: Parts;
  let companyId: number;
  before(async () => {
    parts = await createParts();
    ({ companyId } = await seedCompany(parts.db));
  });
  after(() => parts.close());

  async function read(): Promise<string> {
    const metrics = createMetrics({ collectProcess: false });
    showBacklog({ db: parts.db, clock: systemClock, metrics });
    return metrics.read();
  }

  it('is zero where nothing waits, so that an alert has something to look at', async () => {
    const text = await read();
    assert.match(text, /^posthorn_unsent_messages\{state="CONNECTED"\} 0$/m);
    assert.match(text, /^posthorn_unsent_oldest_seconds\{state="CONNECTED"\} 0$/m);
    assert.match(text, /^posthorn_webhook_deliveries_waiting\{attempt="first"\} 0$/m);
  });

  it('is left out while the database does not answer, and the other metrics are reported', async () => {
    const metrics = createMetrics({ collectProcess: false });
    showBacklog({ db: parts.db, clock: systemClock, metrics });
    metrics.counter('posthorn_other_total', 'Another figure')();
    const text = await parts.db.transaction(async (sql) => {
      await sql.query('LOCK TABLE outbox');
      return Promise.race([metrics.read(), delay(6_000, 'no answer')]);
    });
    assert.match(text, /^posthorn_other_total 1$/m);
    assert.doesNotMatch(text, /^posthorn_unsent_messages\{/m);
  });

  it('is reported by the state of the instances, with deleted ones apart', async () => {
    const connected = await seedInstance(parts.db, companyId, { state: 'CONNECTED', wanted: 'connected' });
    const away = await seedInstance(parts.db, companyId, { state: 'DISCONNECTED', wanted: 'disconnected' });
    await seedUnsent(parts, connected, 3, 60);
    await seedUnsent(parts, away, 2, 7_200);
    const orphan = randomUUID();
    await parts.db.query(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, created_at)
       VALUES ($1, $2, $1, 0, 'text', now())`,
      [orphan, companyId],
    );
    const text = await read();
    const value = (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')
          .at(-1),
      );
    assert.equal(value('posthorn_unsent_messages{state="CONNECTED"}'), 3);
    assert.equal(value('posthorn_unsent_messages{state="DISCONNECTED"}'), 2);
    assert.equal(value('posthorn_unsent_messages{state="DELETED"}'), 1);
    assert.ok(Math.abs(value('posthorn_unsent_oldest_seconds{state="CONNECTED"}') - 60) < 30);
    assert.ok(Math.abs(value('posthorn_unsent_oldest_seconds{state="DISCONNECTED"}') - 7_200) < 30);
    assert.equal(value(`posthorn_instance_unsent_messages{instance_id="${connected}"}`), 3);
    assert.equal(value('posthorn_instances{state="CONNECTED",wanted="connected"}'), 1);
    assert.equal(value('posthorn_instances{state="DISCONNECTED",wanted="disconnected"}'), 1);
  });

  it('names the twenty deepest queues and no more, and is measured once however many ask', async () => {
    await parts.db.query(
      `INSERT INTO instances (id, company_id, name, driver, shard, state, wanted)
       SELECT gen_random_uuid(), $1, 'many ' || n, 'sandbox', n % 32, 'CONNECTED', 'connected'
       FROM generate_series(1, 1000) n`,
      [companyId],
    );
    await parts.db.query(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, created_at)
       SELECT gen_random_uuid(), company_id, id, shard, 'text', now()
       FROM instances, generate_series(1, 100) WHERE name LIKE 'many %'`,
    );
    await parts.db.query('ANALYZE outbox, instances');
    // A pool like that of a worker.
    const db = createDb({ url: parts.url, poolSize: 3, log: parts.log, name: 'worker', plans: 'indexed' });
    const sinceMs = performance.now();
    const { deepest, unsent } = await measureBacklog(db, new Date());
    tellFigure('measuring a backlog of 100,000 messages of 1,000 instances', performance.now() - sinceMs, {
      atMost: 1_000,
    });
    assert.equal(deepest.length, 20);
    assert.equal(unsent.find(({ labels }) => labels?.state === 'CONNECTED')?.value, 100_003);

    let asked = 0;
    const counted = {
      ...db,
      query(...args: Parameters<typeof db.query>) {
        asked += 1;
        return db.query(...args);
      },
    };
    const metrics = createMetrics({ collectProcess: false });
    showBacklog({ db: counted as typeof db, clock: systemClock, metrics });
    await Promise.all([metrics.read(), metrics.read(), metrics.read()]);
    await metrics.read();
    assert.equal(asked, 3);
    await db.close();
  });
});
