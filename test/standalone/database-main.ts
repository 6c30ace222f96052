/**
 * Starts the embedded database of the given DATA_DIR, adds a row, prints the rows that it found as one JSON line, and
 * runs until it is stopped.
 */
import { openDataDir } from '@posthorn/standalone/src/data-dir.ts';
import { startEmbeddedPostgres } from '@posthorn/standalone/src/embedded-postgres/start.ts';
import { loadSecrets } from '@posthorn/standalone/src/secrets.ts';
import pg from 'pg';

try {
  const held = openDataDir(process.argv[2]!);
  const { DATABASE_PASSWORD } = loadSecrets(held.dir);
  const postgres = await startEmbeddedPostgres({ dataDir: held.dir, password: DATABASE_PASSWORD });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS starts (at timestamptz NOT NULL DEFAULT now())');
  await client.query('INSERT INTO starts DEFAULT VALUES');
  const starts = await client.query('SELECT count(*)::integer AS count FROM starts');
  await client.end();
  process.once('SIGTERM', async () => {
    await postgres.stop();
    held.release();
  });
  const { directory, endedStaleProcess } = postgres;
  console.log(JSON.stringify({ starts: starts.rows[0].count, directory, endedStaleProcess }));
} catch (err) {
  console.error((err as Error).message);
  process.exitCode = 1;
}
