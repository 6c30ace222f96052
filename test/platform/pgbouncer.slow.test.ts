import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import pg from 'pg';
import { checkPooler } from '../../admin/checks/database.ts';
import type { AdminDeps } from '../../admin/command.ts';
import { connectInstances, proveExactlyOnce, sendTexts } from '../faults/traffic.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { cloneTemplate, type PostgresServer, startTestPostgres } from '../support/postgres.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { startSystem } from '../support/system.ts';

const log = createLog({ level: 'silent', role: 'test' });
const IGNORES = 'ignore_startup_parameters = options,extra_float_digits';

describe('PgBouncer in front of the database', { timeout: 280_000 }, () => {
  let server: PostgresServer;
  let direct: string;
  const started: PgBouncer[] = [];
  const start = async (...settings: string[]) => {
    const bouncer = await startPgBouncer(direct, settings);
    started.push(bouncer);
    return bouncer.url;
  };
  const doctorSays = (url: string) =>
    checkPooler({ config: { DATABASE_URL: url }, log } as unknown as AdminDeps);
  before(async () => {
    server = await startTestPostgres({ fsync: false });
    direct = (await cloneTemplate(server.url)).url;
  });
  after(async () => {
    await Promise.all(started.map((bouncer) => bouncer.stop()));
    await server?.stop();
  });

  test('the doctor reports no pooler when there is none', async () => {
    assert.deepEqual(await doctorSays(direct), { says: 'none, connections are direct' });
  });

  test('session mode that ignores the start parameters: everything works, and the doctor names the missing parameters', async (t) => {
    const url = await start('pool_mode = session', IGNORES);
    const finding = await doctorSays(url);
    assert.equal(finding.isRemark, true);
    assert.match(finding.says, /^it drops our start parameters/);
    const { url: amqpUrl } = await createTestVhost();
    const system = await startSystem({ databaseUrl: url, amqpUrl, workers: 2 });
    t.after(() => system.stop());
    const { company, instances } = await connectInstances(system, 4);
    const traffic = sendTexts(system, company, instances, 25);
    const accepted = await traffic.done;
    assert.deepEqual([...traffic.refusals], []);
    await proveExactlyOnce(system, instances, accepted);
  });

  test('session mode that knows nothing of our start parameters: every connection is refused, with the reason', async () => {
    const db = createDb({ url: await start('pool_mode = session'), poolSize: 1, log, name: 'test' });
    await assert.rejects(db.query('SELECT 1'), /unsupported startup parameter/).finally(() => db.close());
  });

  test('transaction mode: a lock is held by a stranger, notifications are lost, and the doctor reports it', async () => {
    const url = await start('pool_mode = transaction', IGNORES);
    await assert.rejects(doctorSays(url), /by transaction: locks and notifications need pool_mode = session/);

    const [one, other] = [new pg.Client(url), new pg.Client(url)];
    await Promise.all([one.connect(), other.connect()]);
    const lock = 'SELECT pg_try_advisory_lock(7) AS is_mine';
    assert.deepEqual((await one.query(lock)).rows, [{ is_mine: true }]);
    assert.deepEqual((await other.query(lock)).rows, [{ is_mine: true }], 'both hold the one lock');
    await Promise.all([one.end(), other.end()]);

    const heard: string[] = [];
    const bus = await createBus({ url, log, name: 'test' });
    await bus.on('events', (payload) => void heard.push(payload));
    const teller = new pg.Client(direct);
    await teller.connect();
    await teller.query("NOTIFY events, 'hello'");
    await delay(1_000);
    await teller.end();
    await bus.close();
    assert.deepEqual(heard, []);
  });
});
