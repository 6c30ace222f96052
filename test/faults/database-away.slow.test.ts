import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { sized } from '../support/size.ts';
import { makeSmallDisk } from '../support/small-disk.ts';
import { startSystem } from '../support/system.ts';
import { proveInboundOnce, writeToInstances } from './inbound.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';

const AWAY_MS = sized(5_000, 15_000, 60_000);
const INSTANCES = 8;
const PAUSE_MS = 100;
/** Messages from phones; some of them come before, while and after the database is away. */
const RECEIVED = 400;
/** PostgreSQL keeps up to `max_wal_size` (1 GB) of WAL and begins with one file of 16 MB. */
const WAL_DISK_MB = 128;

/** A way in which a database fails, and the repair by an operator. */
interface Way {
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

const WAYS: Record<string, (t: TestContext, postgres: PostgresServer) => Promise<Way | null>> = {
  async 'PostgreSQL is killed'(_t, postgres) {
    return { goAway: postgres.kill, comeBack: postgres.restart };
  },
  async 'the disk of the WAL is full'(t, postgres) {
    const disk = makeSmallDisk(WAL_DISK_MB);
    if (!disk) return null;
    t.after(() => disk.remove());
    await postgres.kill();
    const wal = path.join(postgres.dir, 'data', 'pg_wal');
    const target = path.join(disk.dir, 'wal');
    execFileSync('cp', ['-a', wal, target]);
    rmSync(wal, { recursive: true });
    symlinkSync(target, wal);
    await postgres.restart();
    return {
      async goAway() {
        disk.fill();
        const admin = open(postgres.url);
        // The current file has room for half a minute of this load; there is no room for the next one.
        await admin.query('SELECT pg_switch_wal()').catch(() => undefined);
        await admin.close();
        const pidFile = path.join(postgres.dir, 'data', 'postmaster.pid');
        await waitFor(() => !existsSync(pidFile), 120_000, { what: 'PostgreSQL has ended for want of room' });
        assert.match(
          readFileSync(path.join(postgres.dir, 'log'), 'utf8'),
          /PANIC: .*No space left on device/,
        );
      },
      async comeBack() {
        disk.free();
        await postgres.restart();
      },
    };
  },
};

const open = (url: string) =>
  createDb({ url, poolSize: 1, log: createLog({ level: 'silent', role: 'test' }), name: 'test' });

for (const [name, prepare] of Object.entries(WAYS))
  test(`${name}, for ${AWAY_MS / 1000} s under load: sends are answered with Retry-After, each goes out once and in order, each received message is recorded once`, async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.stop());
    const way = await prepare(t, postgres);
    if (!way) return assert.notEqual(process.getuid?.(), 0, 'root mounts a disk of its own here');
    await migrate(postgres.url);
    const { url: amqpUrl } = await createTestVhost();
    const system = await startSystem({ databaseUrl: postgres.url, amqpUrl, messaging: 1, workers: 2 });
    t.after(() => system.stop());
    const { company, instances } = await connectInstances(system, INSTANCES);
    const perInstance = Math.round((AWAY_MS + 10_000) / PAUSE_MS);
    const sent = sendTexts(system, company, instances, perInstance, PAUSE_MS);
    const received = writeToInstances(system, instances, RECEIVED, AWAY_MS + 10_000);
    await waitFor(() => sent.accepted() > INSTANCES * 3);
    await way.goAway();
    const refused = () => [...sent.refusals.values()].reduce((sum, count) => sum + count, 0);
    const refusedBefore = refused();
    // Until each sender was refused a few times, answers about what had been committed are still on their way.
    await waitFor(() => refused() - refusedBefore >= INSTANCES * 5);
    const whenGone = sent.accepted();
    await delay(AWAY_MS);
    assert.equal(sent.accepted(), whenGone, 'nothing is accepted without the database');
    await way.comeBack();
    const backAtMs = performance.now();
    await waitFor(() => sent.accepted() > whenGone, 60_000, { what: 'accepts go on' });
    const acceptedAgainMs = performance.now() - backAtMs;
    const accepted = await sent.done;
    assert.deepEqual([...sent.refusals.keys()], ['503 SERVICE_UNAVAILABLE']);
    const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
    await proveInboundOnce(system, await received.done);
    await proveOneSessionEach(system);
    t.diagnostic(
      `${sent.accepted()} sent, ${received.written()} received; ${sent.refusals.get('503 SERVICE_UNAVAILABLE')} refusals; accepts go on ${Math.round(acceptedAgainMs)} ms after the database; ${repeatsDropped} repeats dropped by the network`,
    );
  });
