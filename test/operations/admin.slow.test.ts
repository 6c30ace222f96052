import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { keyMark } from '@posthorn/core/workers/key-mark.ts';
import { createParts, type Parts } from '@posthorn/test/support/parts.ts';
import { baseEnv, projectRoot, waitFor } from '@posthorn/test/support/process.ts';
import { createTestVhost } from '@posthorn/test/support/rabbitmq.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import { makeSmallDisk } from '@posthorn/test/support/small-disk.ts';
import { newWorkerTag, startMembership } from '@posthorn/worker/ownership/membership.ts';

const OLD = 'ab'.repeat(32);
const NEW = 'cd'.repeat(32);

describe('npm run admin', () => {
  let parts: Parts;
  let companyId: number;
  let env: Record<string, string>;
  const work = mkdtempSync(path.join(tmpdir(), 'posthorn-admin-'));
  before(async () => {
    parts = await createParts();
    ({ companyId } = await seedCompany(parts.db));
    env = {
      ...baseEnv(),
      NODE_ENV: 'test',
      DATABASE_URL: parts.url,
      AMQP_URL: (await createTestVhost()).url,
      DATA_DIR: work,
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: OLD,
    };
  });
  after(async () => {
    await parts.close();
    rmSync(work, { recursive: true, force: true });
  });

  const admin = (args: string[], more: Record<string, string> = {}) => run(args, { ...env, ...more });
  const run = (args: string[], all: Record<string, string>) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const options = { cwd: projectRoot, env: all };
      execFile(process.execPath, ['admin/main.ts', ...args], options, (err, stdout, stderr) =>
        resolve({ code: err ? Number(err.code) : 0, stdout, stderr }),
      );
    });

  const startWorkerWith = (key: string) =>
    startMembership({
      databaseUrl: parts.url,
      log: parts.log,
      name: `worker of ${key.slice(0, 4)}`,
      tag: newWorkerTag(),
      keyMark: keyMark(createCipher(key)),
    });

  it('reports a wrong command, argument or setting in one line', async () => {
    const wrong: [string[], Record<string, string>, RegExp][] = [
      [
        ['tidy'],
        {},
        /^admin: tidy is no command: doctor, drain, shards, move, reseal, requeue, export, erase$/,
      ],
      [['export', 'acme', '/tmp/x'], {}, /^admin: acme is no id of a company/],
      [['erase', String(companyId)], {}, /^admin: add --yes to erase company/],
      [['requeue', 'everything'], {}, /^admin: requeue takes one of sends, deliveries, mails$/],
      [['shards', 'many'], {}, /^admin: many is no number of shards$/],
      [['shards', '64'], {}, /^admin: add --yes to have 64 shards: /],
      [['shards', '16', '--yes'], {}, /^admin: there are 32 shards, and their number can only be raised$/],
      [['shards', '5000', '--yes'], {}, /^admin: the number of shards is 1 to 4096$/],
      [
        ['move', 'acme', '3'],
        {},
        /^admin: move takes the id of an instance, and a shard, worker:<id> or home$/,
      ],
      [['move', randomUUID(), 'east'], {}, /^admin: east is neither a shard, worker:<id> nor home$/],
      [['move', randomUUID(), '3'], {}, /^admin: there is no instance /],
      [['doctor'], { ENCRYPTION_KEYS_ACCEPTED: 'short' }, /^admin: ENCRYPTION_KEYS_ACCEPTED: /],
    ];
    for (const { code, stdout, stderr, expected } of await Promise.all(
      wrong.map(async ([args, more, expected]) => ({ ...(await admin(args, more)), expected })),
    )) {
      assert.equal(code, 1, stdout);
      assert.match(stderr.trimEnd(), expected);
    }
  });

  it('tells a wrong argument before it asks for a setting or the database', async () => {
    const wrong: Readonly<Record<string, RegExp>> = {
      constructor: /^admin: constructor is no command: /,
      'doctor now': /^admin: doctor takes no arguments$/,
      'drain first': /^admin: drain takes the id of a worker, not first: /,
      'shards 64': /^admin: add --yes to have 64 shards: /,
      'move acme 3': /^admin: move takes the id of an instance, /,
      'reseal all': /^admin: reseal takes no arguments$/,
      'requeue constructor': /^admin: requeue takes one of /,
      'export 5': /^admin: export takes a company id and a folder$/,
      'erase 5': /^admin: add --yes to erase company 5: /,
    };
    const without = { ...baseEnv(), DATA_DIR: work };
    for (const [typed, expected] of Object.entries(wrong)) {
      const { code, stderr } = await run(typed.split(' '), without);
      assert.equal(code, 1, typed);
      assert.match(stderr.trimEnd(), expected);
    }
    assert.match((await run(['doctor'], without)).stderr, /^admin: DATABASE_URL is required/);
  });

  it('doctor finds everything in order, and ends with 0', async () => {
    const { code, stdout, stderr } = await admin(['doctor']);
    assert.equal(code, 0, stdout + stderr);
    for (const name of [
      'settings',
      'schema',
      'writes',
      'role of billing',
      'clock',
      'broker',
      'storage',
      'keys',
    ])
      assert.match(stdout, new RegExp(`^ok +${name}: `, 'm'));
    // The PostgreSQL of the tests never waits for its disk.
    assert.match(stdout, /^look at database: PostgreSQL .*; fsync is off/m);
    assert.match(stdout, /^look at workers: 0 live, with 0 of 32 shards; nothing is unsent$/m);
    assert.match(stdout, /^look at jobs: none has run yet$/m);
  });

  it('doctor tells that what is past its retention stays where its user does not own the tables', async () => {
    const user = `no_owner_${randomUUID().slice(0, 8)}`;
    await parts.db.query(`CREATE ROLE ${user} LOGIN PASSWORD 'secret'`);
    for (const schema of ['public', 'billing'])
      await parts.db.query(`
        GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${user};
        GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${user};
        GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${user}`);
    const url = new URL(parts.url);
    url.username = user;
    url.password = 'secret';
    try {
      const { code, stdout } = await admin(['doctor'], { DATABASE_URL: url.href });
      assert.equal(code, 1, stdout);
      assert.match(
        stdout,
        /^WRONG +writes: this user does not own all tables, so that events .* for ever: /m,
      );
    } finally {
      await parts.db.query(`DROP OWNED BY ${user}`);
      await parts.db.query(`DROP ROLE ${user}`);
    }
  });

  it('doctor names each fault, continues with the other checks, and ends with 1', async () => {
    await parts.db.query(
      `INSERT INTO session_keys (instance_id, company_id, kind, id, sealed) VALUES ($1, $2, 'k', 'lost', $3)`,
      [randomUUID(), companyId, createCipher('ef'.repeat(32)).seal('lost')],
    );
    const { code, stdout } = await admin(['doctor'], {
      S3_BUCKET: 'bucket-of-tests',
      S3_ENDPOINT: 'http://127.0.0.1:9',
      S3_ACCESS_KEY_ID: 'a',
      S3_SECRET_ACCESS_KEY: 'b',
      MEDIA_SPOOL_MB: '1000000000',
    });
    await parts.db.query('DELETE FROM session_keys');
    assert.equal(code, 1);
    assert.match(stdout, /^WRONG +keys: no accepted key opens 1 of session_keys\.sealed$/m);
    assert.match(stdout, /^WRONG +storage: .+ECONNREFUSED/m);
    assert.match(
      stdout,
      /^look at disk: .* free at DATA_DIR, of which each process may fill 976562\.5 \(MEDIA_SPOOL_MB\)$/m,
    );
    assert.match(stdout, /^ok +broker: /m);
  });

  it('reseal seals with the key of the workers, reports what it did, and refuses any other key', async (t) => {
    const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED', wanted: 'connected' });
    const write = (sealed: Buffer) =>
      parts.db.query('UPDATE instances SET credentials = $2 WHERE id = $1', [instanceId, sealed]);
    const read = async () => {
      const { rows } = await parts.db.query<{ credentials: Buffer }>(
        'SELECT credentials FROM instances WHERE id = $1',
        [instanceId],
      );
      return rows[0]!.credentials;
    };
    const sealed = createCipher(OLD).seal('token');
    await write(sealed);
    const changing = { ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_ACCEPTED: OLD };
    assert.match(
      (await admin(['doctor'], changing)).stdout,
      /^look at keys: 1 of 1 values are sealed with another key/m,
    );

    const alone = await admin(['reseal'], changing);
    assert.equal(alone.code, 1, alone.stdout);
    assert.match(alone.stderr, /^admin: no running worker seals with this ENCRYPTION_KEY: .*\n$/);

    const [writes, former] = [NEW, OLD].map((key) => startWorkerWith(key));
    t.after(() => Promise.all([writes!.stop(), former!.stop()]));
    await waitFor(() => writes!.isAlive() && former!.isAlive());
    const early = await admin(['reseal'], changing);
    assert.equal(early.code, 1, early.stdout);
    assert.match(
      early.stderr,
      /^admin: worker of abab seals with another ENCRYPTION_KEY than this one: .*\n$/,
    );
    await former!.stop();
    const mistyped = await admin(['reseal'], { ...changing, ENCRYPTION_KEY: NEW.replace('d', 'e') });
    assert.equal(mistyped.code, 1, mistyped.stdout);
    assert.match(mistyped.stderr, /^admin: worker of cdcd seals with another ENCRYPTION_KEY than this one: /);
    assert.deepEqual(await read(), sealed);

    const { code, stdout } = await admin(['reseal'], changing);
    assert.equal(code, 0);
    assert.match(stdout, /^instances\.credentials: 1 checked, 1 sealed anew, 0 unreadable$/m);
    assert.equal(createCipher(NEW).open(await read()), 'token');
  });

  it('drain lists the workers, and refuses one that does not live', async () => {
    assert.deepEqual(await admin(['drain']), { code: 0, stdout: '', stderr: '' });
    const { code, stderr } = await admin(['drain', '7']);
    assert.equal(code, 1);
    assert.match(stderr, /^admin: 7 is no live worker: there is none$/m);
  });

  it('requeue makes tasks due that wait for their next try, except those under way or put off by their receiver', async () => {
    const add = (more: string) =>
      parts.db.query(
        `INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, attempts, next_attempt_at,
           created_at, leased_until, early_from)
         VALUES ($1, 1, gen_random_uuid(), now(), 2, now() + interval '1 hour', now(), ${more})`,
        [companyId],
      );
    await add('NULL, NULL');
    await add(`now() + interval '1 minute', NULL`);
    await add(`NULL, now() + interval '1 hour'`);
    const { stdout } = await admin(['requeue', 'deliveries']);
    assert.match(stdout, /^1 deliveries are due now$/m);
    const { rows } = await parts.db.query<{ count: number }>(
      'SELECT count(*) AS count FROM webhook_deliveries WHERE next_attempt_at <= now()',
    );
    assert.equal(rows[0]!.count, 1);
  });

  it('requeue does not wait for processes that are ending tasks', async () => {
    const { db } = parts;
    const instanceId = await seedInstance(db, companyId, { state: 'CONNECTED', wanted: 'connected' });
    const { rows: tasks } = await db.query<{ task_id: string }>(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, created_at, published_at)
       SELECT gen_random_uuid(), $1, $2, 0, 'text', now(), now() FROM generate_series(1, 3) RETURNING task_id`,
      [companyId, instanceId],
    );
    await db.transaction(async (sql) => {
      await sql.query('DELETE FROM outbox WHERE task_id = $1', [tasks[2]!.task_id]);
      const { code, stdout, stderr } = await admin(['requeue', 'sends']);
      assert.deepEqual([code, stdout], [0, '2 sends are due now\n'], stderr);
      await sql.query('DELETE FROM outbox WHERE task_id = $1', [tasks[0]!.task_id]);
    });
    await db.query('DELETE FROM outbox');
  });

  it('shards adds shards, and reports where the instances are', async () => {
    assert.match(
      (await admin(['shards'])).stdout,
      /^32 shards, 0 of them with an owner, 0 workers; every instance is in its shard$/m,
    );
    const { code, stdout, stderr } = await admin(['shards', '1024', '--yes']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^1024 shards, .*; \d+ instances have to move; they move when a worker runs$/m);
    await parts.db.query(
      `INSERT INTO lone_jobs (name, worker, started_at, finished_at)
       VALUES ('the purge', 'host 12', now() - interval '5 minutes', now() - interval '4 minutes')`,
    );
    const found = (await admin(['doctor'])).stdout;
    assert.match(found, /^look at workers: 0 live, with 0 of 1024 shards;/m);
    assert.match(found, /^ok {6}jobs: the purge 4 min ago on host 12$/m);
  });

  it('export writes the files, and reports the number of rows', async () => {
    const into = path.join(work, 'export');
    const { code, stdout, stderr } = await admin(['export', String(companyId), into]);
    assert.equal(code, 0, stderr);
    const { files } = JSON.parse(readFileSync(path.join(into, 'manifest.json'), 'utf8'));
    const rows = files.reduce((sum: number, file: { rows: number }) => sum + file.rows, 0);
    assert.equal(
      stdout.trimEnd(),
      `company ${companyId}: ${rows} rows in ${files.length} files below ${into}`,
    );
  });

  it('export names the folder that it cannot use', async (t) => {
    const file = path.join(work, 'a-file');
    writeFileSync(file, '');
    const wrong: [string, RegExp][] = [
      [file, /^admin: \S+\/a-file cannot be used: it is no folder\n$/],
      [
        path.join(file, 'below'),
        /^admin: \S+\/a-file\/below cannot be used: something in its path is no folder\n$/,
      ],
      ['', /^admin: export takes a company id and a folder\n$/],
    ];
    const disk = makeSmallDisk(1);
    if (disk) {
      const into = path.join(disk.dir, 'export');
      mkdirSync(into);
      disk.fill();
      wrong.push([into, /^admin: \S+\/export cannot be used: the disk is full\n$/]);
      t.after(() => disk.remove());
    }
    for (const [into, expected] of wrong) {
      const { code, stderr } = await admin(['export', String(companyId), into]);
      assert.equal(code, 1);
      assert.match(stderr, expected);
    }
  });

  it('export tells in one line why the storage cannot be read', async () => {
    await parts.db.query(
      `INSERT INTO media (id, company_id, instance_id, source, mime_type, file_name, size_bytes, sha256, storage_key, created_at)
       SELECT gen_random_uuid(), $1, id, 'uploads', 'image/png', 'f', 1, '\\x00', 'key', now() FROM instances LIMIT 1`,
      [companyId],
    );
    const { code, stderr } = await admin(['export', String(companyId), path.join(work, 'without')], {
      S3_BUCKET: 'bucket-of-tests',
      S3_ENDPOINT: 'http://127.0.0.1:9',
      S3_ACCESS_KEY_ID: 'a',
      S3_SECRET_ACCESS_KEY: 'b',
    });
    assert.equal(code, 1);
    assert.match(stderr, /^admin: the media storage: the object could not be read: .*ECONNREFUSED.*\n$/);
  });

  it('erase changes nothing while the subscriptions cannot be cancelled', async () => {
    const { code, stderr } = await admin(['erase', String(companyId), '--yes'], {
      BILLING_INTERNAL_URL: 'http://127.0.0.1:9',
      INTERNAL_SECRET: 'x'.repeat(32),
    });
    assert.equal(code, 1);
    assert.match(stderr, /^admin: billing did not cancel .*, so nothing was erased: fetch failed: .+\n$/);
    const { rows } = await parts.db.query<{ status: string }>('SELECT status FROM companies WHERE id = $1', [
      companyId,
    ]);
    assert.equal(rows[0]!.status, 'active');
  });
});
