import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isDeadlock, isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createOrm } from '@posthorn/core/platform/database/orm.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { messagingEntities } from '@posthorn/server/messaging/entities.ts';
import { createTestDatabase } from '@posthorn/test/support/postgres.ts';
import { waitFor } from '@posthorn/test/support/process.ts';
import { listen } from '../support/listen.ts';

describe('the connections to PostgreSQL', () => {
  let db: Db;
  let admin: Db;
  let drop: () => Promise<void>;
  let databaseUrl: string;
  before(async () => {
    const database = await createTestDatabase();
    drop = database.drop;
    databaseUrl = database.url;
    const options = { url: database.url, log: createLog({ level: 'silent', role: 'test' }), name: 'test' };
    db = createDb({ ...options, poolSize: 4 });
    admin = createDb({ ...options, poolSize: 1 });
  });
  after(async () => {
    await db.close();
    await admin.close();
    await drop();
  });

  it('fail the work under way when the database ends them between two queries, and the process continues', async () => {
    const failed = await db
      .transaction(async (client) => {
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await admin.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
        // The connection ends while nobody waits for this client.
        await waitFor(async () => {
          const there = await admin.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [rows[0]!.pid]);
          return there.rows.length === 0;
        });
        await setTimeout(50);
        await client.query('SELECT 1');
      })
      .catch((err: unknown) => err);
    assert.ok(failed instanceof Error);
    const found = await waitFor(() => db.query<{ one: number }>('SELECT 1 AS one'));
    assert.equal(found.rows[0]!.one, 1);
  });

  it('fail their query when the database dies at the moment they are open, and the process continues', async () => {
    const message = (type: string, body: Buffer) => {
      const head = Buffer.from([type.charCodeAt(0), 0, 0, 0, 0]);
      head.writeInt32BE(body.length + 4, 1);
      return Buffer.concat([head, body]);
    };
    const isOpen = [message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))];
    const isDying = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));
    // In one read of the socket, so that the pool does not run between them.
    const dying = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(Buffer.concat([...isOpen, isDying])));
    });
    const url = `postgres://user:password@127.0.0.1:${await listen(dying)}/any`;
    const toDying = createDb({
      url,
      log: createLog({ level: 'silent', role: 'test' }),
      name: 'test',
      poolSize: 1,
    });
    await assert.rejects(toDying.query('SELECT 1'), (err) => isUnavailable(err));
    await toDying.close();
    dying.close();
  });

  describe('a transaction', () => {
    before(() => db.query('CREATE TABLE notes (id integer PRIMARY KEY, word text)'));
    beforeEach(() => db.query('TRUNCATE notes'));
    const INSERT = 'INSERT INTO notes VALUES ($1, $2)';
    const words = async () => {
      const { rows } = await db.query<{ word: string }>('SELECT word FROM notes ORDER BY id');
      return rows.map(({ word }) => word);
    };

    it('runs statements that are not awaited in order, and commits them', async () => {
      await db.transaction(async (sql) => {
        await sql.write(INSERT, [1, 'first']);
        await sql.write(INSERT, [2, 'second']);
        await sql.write(`UPDATE notes SET word = word || '!'`);
        await sql.write(INSERT, [3, 'third']);
      });
      assert.deepEqual(await words(), ['first!', 'second!', 'third']);
    });

    for (const place of ['first', 'middle', 'last'] as const)
      it(`keeps nothing when the ${place} statement that is not awaited fails, and reports why`, async () => {
        const failed = await db
          .transaction(async (sql) => {
            for (const each of ['first', 'middle', 'last'] as const) {
              const word = { first: 1, middle: 2, last: 3 }[each];
              await sql.write(INSERT, [each === place ? 'not a number' : word, each]);
            }
            return 'committed';
          })
          .catch((err: { code?: string }) => err);
        assert.equal((failed as { code?: string }).code, '22P02');
        assert.deepEqual(await words(), []);
        // The connection still works, its prepared statements too.
        await db.transaction((sql) => sql.write(INSERT, [1, place]));
        assert.deepEqual(await words(), [place]);
      });

    it('keeps nothing when it continues after a failed statement', async () => {
      const failed = await db
        .transaction(async (sql) => {
          await sql.write(INSERT, [1, 'kept?']);
          await sql.query('SELECT nothing FROM nowhere').catch(() => undefined);
          return 'committed';
        })
        .catch((err: unknown) => err);
      assert.ok(failed instanceof Error, 'a transaction that was rolled back passed for committed');
      assert.deepEqual(await words(), []);
    });

    it('keeps nothing when the values of a statement cannot be sent, and prepares it when they can', async () => {
      const circular: { self?: unknown } = {};
      circular.self = circular;
      const insert = (id: unknown, word: string) => ({
        name: 'bad-values',
        text: INSERT,
        values: [id, word],
      });
      const fails = async () => {
        const failed = await db
          .transaction(async (sql) => {
            await sql.write({ name: 'good-values', text: INSERT, values: [1, 'first'] });
            await sql.write(insert(circular, 'middle'));
            await sql.write(INSERT, [3, 'last']);
          })
          .catch((err: unknown) => err);
        assert.ok(failed instanceof TypeError, String(failed));
        assert.deepEqual(await words(), []);
      };
      await fails();
      await db.transaction((sql) => sql.write(insert(1, 'prepared')));
      await db.query('TRUNCATE notes');
      await fails();
      for (const word of ['again', 'and again'])
        await db.transaction((sql) => sql.write(insert(word.length, word)));
      assert.deepEqual(await words(), ['again', 'and again']);
    });

    it('refuses two texts under one name, and still runs the first', async () => {
      const first = { name: 'of-one-text', text: 'SELECT 1 AS one' };
      await db.transaction((sql) => sql.query(first));
      const refused = await db
        .transaction((sql) => sql.query({ ...first, text: 'SELECT 2 AS two' }))
        .catch((err: unknown) => err);
      assert.match(String(refused), /must be unique/);
      const { rows } = await db.transaction((sql) => sql.query(first));
      assert.deepEqual(rows, [{ one: 1 }]);
    });

    it('prepares statements anew that were skipped after a failed one', async () => {
      const named = (id: number, word: string) => ({ name: 'skipped', text: INSERT, values: [id, word] });
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const outcomes = await db
          .transaction((sql) =>
            Promise.allSettled([
              sql.query('SELECT 1 / $1::int', [0]),
              sql.query(named(1, 'never')),
              sql.query(named(2, 'never')),
            ]),
          )
          .catch((err: { code?: string }) => err);
        assert.ok(
          outcomes instanceof Error,
          'a transaction with a statement that failed passed for committed',
        );
      }
      await db.transaction((sql) => Promise.all([sql.query(named(1, 'one')), sql.query(named(2, 'two'))]));
      assert.deepEqual(await words(), ['one', 'two']);
    });

    it('answers each statement of a turn with its own rows, described or known', async () => {
      const select = (count: number) => ({
        name: 'rows-of-a-turn',
        text: 'SELECT nth, nth * 10::bigint AS tenfold FROM generate_series(1, $1) AS nth',
        values: [count],
      });
      for (let turn = 0; turn < 2; turn += 1) {
        const [none, inserted, two, plain, three] = await db.transaction((sql) =>
          Promise.all([
            sql.query(select(0)),
            sql.query({ name: 'insert-of-a-turn', text: INSERT, values: [turn, 'row'] }),
            sql.query(select(2)),
            sql.query('SELECT now() AS at'),
            sql.query(select(3)),
          ]),
        );
        assert.deepEqual(
          [none!.rows, none!.rowCount, none!.fields.map(({ name }) => name)],
          [[], 0, ['nth', 'tenfold']],
        );
        assert.deepEqual([inserted!.rows, inserted!.rowCount, inserted!.command], [[], 1, 'INSERT']);
        assert.deepEqual(
          two!.rows,
          [1, 2].map((nth) => ({ nth, tenfold: nth * 10 })),
        );
        assert.ok(plain!.rows[0]!.at instanceof Date);
        assert.equal(three!.rowCount, 3);
      }
    });

    it('rolls back work that throws before it sent anything, and throws the same error', async () => {
      const thrown = await db
        .transaction(async (sql) => {
          void sql.query(INSERT, [1, 'never']).catch(() => undefined);
          throw new RangeError('its own');
        })
        .catch((err: unknown) => err);
      assert.ok(thrown instanceof RangeError, String(thrown));
      assert.deepEqual(await words(), []);
    });

    it('fails all that wait when the connection is lost', async () => {
      const outcomes = await db
        .transaction((sql) =>
          Promise.allSettled([
            sql.query('SELECT pg_terminate_backend(pg_backend_pid())'),
            sql.query('SELECT pg_sleep(60)'),
            sql.write(INSERT, [1, 'never']),
          ]).then((settled) => {
            assert.deepEqual(
              settled.map(({ status }) => status),
              ['rejected', 'rejected', 'rejected'],
            );
          }),
        )
        .catch((err: unknown) => err);
      assert.ok(outcomes instanceof Error && isUnavailable(outcomes), String(outcomes));
      assert.deepEqual(await words(), []);
    });

    it('reports why its opening failed, and runs nothing outside of it', async () => {
      const failed = await db
        .transaction((sql) => sql.write(INSERT, [1, 'outside']), { text: 'SELECT 1 / 0' })
        .catch((err: { code?: string }) => err);
      assert.equal((failed as { code?: string }).code, '22012');
      assert.deepEqual(await words(), []);
    });
  });

  describe('with prepared statements, when a migration adds a column to their table', () => {
    const read = { name: 'widgets-read', text: 'SELECT * FROM widgets' };
    const addColumn = (name: string) => admin.query(`ALTER TABLE widgets ADD COLUMN ${name} integer`);
    /** Prepares it on every connection of the pool. */
    const prepare = () =>
      Promise.all(
        Array.from({ length: 4 }, () => db.transaction((sql) => sql.query(read).then(() => setTimeout(50)))),
      );
    before(() => admin.query('CREATE TABLE widgets (id integer); INSERT INTO widgets VALUES (1)'));

    it('answer as before', async () => {
      await prepare();
      await addColumn('size');
      const answers = await Promise.all(Array.from({ length: 8 }, () => db.query(read)));
      for (const { rows } of answers) assert.deepEqual(rows, [{ id: 1, size: null }]);
    });

    it('fail a transaction as one that may be tried again, at most once a connection', async () => {
      await prepare();
      await addColumn('weight');
      let failures = 0;
      for (let round = 0; round < 8; round += 1) {
        const outcome = await db.transaction((sql) => sql.query(read)).catch((err: unknown) => err);
        if (outcome instanceof Error) {
          assert.ok(isUnavailable(outcome), String(outcome));
          failures += 1;
        }
      }
      assert.ok(failures >= 1 && failures <= 4, `${failures} failures`);
    });
  });

  it('distinguish a database that is away from a statement that it refuses', async () => {
    const away = createDb({
      url: 'postgres://127.0.0.1:1/none',
      poolSize: 1,
      log: createLog({ level: 'silent', role: 'test' }),
      name: 'test',
    });
    assert.ok(isUnavailable(await away.query('SELECT 1').catch((err: unknown) => err)));
    assert.ok(!isUnavailable(await db.query('SELECT nothing FROM nowhere').catch((err: unknown) => err)));
    await away.close();
  });

  it('count a database that lets them in no longer, as after a change of its password, as one that is away', async () => {
    const url = new URL(databaseUrl);
    url.password = 'the former one';
    const options = { url: url.href, poolSize: 1, name: 'test' };
    const pool = createDb({ ...options, log: createLog({ level: 'silent', role: 'test' }) });
    const orm = await createOrm({ ...options, entities: messagingEntities });
    const refusals = [pool.query('SELECT 1'), orm.fork().getConnection().execute('SELECT 1')];
    for (const refusal of await Promise.all(refusals.map((asked) => asked.catch((err: unknown) => err)))) {
      assert.match(String(refusal), /password/);
      assert.ok(isUnavailable(refusal), String(refusal));
    }
    await Promise.all([pool.close(), orm.close()]);
  });

  it('distinguish a deadlock, after which the request may be tried again, from a fault of the request', async () => {
    await db.query('CREATE TABLE pairs (id integer PRIMARY KEY)');
    await db.query('INSERT INTO pairs VALUES (1), (2)');
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const lock = (
      own: PromiseWithResolvers<void>,
      other: PromiseWithResolvers<void>,
      ids: [number, number],
    ) =>
      db.transaction(async (sql) => {
        await sql.query('SELECT id FROM pairs WHERE id = $1 FOR UPDATE', [ids[0]]);
        own.resolve();
        await other.promise;
        await sql.query('SELECT id FROM pairs WHERE id = $1 FOR UPDATE', [ids[1]]);
      });
    const outcomes = await Promise.allSettled([lock(first, second, [1, 2]), lock(second, first, [2, 1])]);
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    assert.equal(failed.length, 1);
    assert.ok(isDeadlock(failed[0]) && isUnavailable(failed[0]), String(failed[0]));
    assert.ok(!isDeadlock(await db.query('SELECT nothing FROM nowhere').catch((err: unknown) => err)));
  });

  it('take a host whose name is not known for a while, as that of a container that is restarted, for one that is away', async () => {
    const away = createDb({
      url: 'postgres://nowhere.invalid/none',
      poolSize: 1,
      log: createLog({ level: 'silent', role: 'test' }),
      name: 'test',
    });
    const failed = await away.query('SELECT 1').catch((err: unknown) => err);
    assert.ok(isUnavailable(failed), String(failed));
    for (const code of ['ENOTFOUND', 'ENETUNREACH'])
      assert.ok(isUnavailable(Object.assign(new Error(code), { code })), code);
    await away.close();
  });
});
