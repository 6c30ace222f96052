import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { cloneTemplate, startTestPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { overRaggedLink, type RaggedLink } from '../support/ragged-link.ts';
import { IS_WHOLE, sized } from '../support/size.ts';
import { type System, startSystem } from '../support/system.ts';
import { proveInboundOnce, writeToInstances } from './inbound.ts';
import { receiveWebhooks } from './receive-webhooks.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';

const LASTS_MS = sized(15_000, 15_000, 600_000);
const INSTANCES = 16;
const SEND_EVERY_MS = 250;
const RECEIVED_PER_SECOND = 20;

test(`connections to the database and the broker are cut after any byte for ${LASTS_MS / 1000} s: no process ends, each message and each event comes once`, async (t) => {
  const { system, links } = await start(t);
  const { company, instances } = await connectInstances(system, INSTANCES);
  const { delivered } = await receiveWebhooks(t, system, company.companyId, 'message.*');

  for (const link of Object.values(links)) link.fray();
  const outbound = sendTexts(system, company, instances, LASTS_MS / SEND_EVERY_MS, SEND_EVERY_MS);
  const inbound = writeToInstances(system, instances, (RECEIVED_PER_SECOND * LASTS_MS) / 1_000, LASTS_MS);
  const accepted = await outbound.done;
  const written = await inbound.done;
  const mendedAtMs = performance.now();
  const cuts = Object.entries(links).map(([name, link]) => `${name} ${link.cuts()}`);
  for (const link of Object.values(links)) {
    assert.ok(link.cuts() > 0);
    link.mend();
  }

  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await proveInboundOnce(system, written);
  await proveOneSessionEach(system);
  const eventsWanted = 3 * outbound.accepted() + inbound.written();
  const events = await waitFor(
    async () => {
      const { rows } = await system.db.query<{ event_id: string }>(
        `SELECT event_id FROM events WHERE type LIKE 'message.%'`,
      );
      return rows.length >= eventsWanted && delivered.size >= eventsWanted && rows;
    },
    120_000,
    { what: 'each message is told as sent, delivered and read, or as received' },
  );
  tellFigure(
    'all is delivered after the cuts',
    (performance.now() - mendedAtMs) / 1_000,
    { atMost: 10 },
    's',
  );
  assert.equal(events.length, eventsWanted);
  assert.deepEqual(delivered, new Set(events.map(({ event_id }) => event_id)));
  for (const each of [...system.messaging, ...system.billing, ...system.workers])
    assert.doesNotThrow(
      () => process.kill(each.pid(), 0),
      `${each.url} ended: ${each.output().slice(-3_000)}`,
    );
  t.diagnostic(
    `cut: ${cuts.join(', ')}; ${outbound.accepted()} sent, ${inbound.written()} received, ${events.length} events; ` +
      `${repeatsDropped} repeats dropped by the network; slowest accept ${outbound.slowestMs().toFixed(0)} ms, ` +
      `refused: ${JSON.stringify(Object.fromEntries(outbound.refusals))}`,
  );
});

/** A system whose processes reach everything over links that may be cut. */
async function start(
  t: TestContext,
): Promise<{ system: System; links: Record<'database' | 'broker', RaggedLink> }> {
  const postgres = await startTestPostgres({ fsync: IS_WHOLE });
  t.after(() => postgres.stop());
  const databaseUrl = (await cloneTemplate(postgres.url)).url;
  const amqpUrl = (await createTestVhost()).url;
  const database = await overRaggedLink(databaseUrl);
  const broker = await overRaggedLink(amqpUrl);
  for (const { link } of [database, broker]) t.after(() => link.close());
  const system = await startSystem({
    databaseUrl,
    amqpUrl,
    messaging: 2,
    workers: 2,
    billing: 1,
    env: { DATABASE_URL: database.url, AMQP_URL: broker.url },
  });
  t.after(() => system.stop());
  return { system, links: { database: database.link, broker: broker.link } };
}
