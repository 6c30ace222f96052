import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createDb, type Db, isUnavailable } from '@posthorn/core/platform/db.ts';
import { createLog } from '@posthorn/core/platform/log.ts';
import { createTestDatabase } from '@posthorn/test/support/postgres.ts';
import { waitFor } from '@posthorn/test/support/process.ts';

describe('the connections to PostgreSQL', () => {
  let db: Db;
  let admin: Db;
  let drop: () => Promise<void>;
  before(async () => {
    const database = await createTestDatabase();
    drop = database.drop;
    const options = { url: database.url, log: createLog({ level: 'silent', role: 'test' }), name: 'test' };
    db = createDb({ ...options, poolSize: 4 });
    admin = createDb({ ...options, poolSize: 1 });
  });
  after(async () => {
    await db.close();
    await admin.close();
    await drop();
  });

  it('fail what is under way when the database ends them between two queries, and the process goes on', async () => {
    const failed = await db
      .transaction(async (client) => {
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await admin.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
        // The end arrives while nobody waits for this client.
        await new Promise((resolve) => client.once('end', resolve));
        await client.query('SELECT 1');
      })
      .catch((err: unknown) => err);
    assert.ok(failed instanceof Error);
    const found = await waitFor(() => db.query<{ one: number }>('SELECT 1 AS one'));
    assert.equal(found.rows[0]!.one, 1);
  });

  it('tell a database that is away from a statement that it refuses', async () => {
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
});
