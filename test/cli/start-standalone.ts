import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { freePort, startProcess } from '../support/process.ts';

/** The whole system as `npm start` runs it, on free ports and with its data in a folder of its own. */
export async function startStandalone(env: Record<string, string> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'posthorn-standalone-'));
  const ports = new Set<number>();
  while (ports.size < 3) ports.add(await freePort());
  const [port, sandboxPort, billingPort] = [...ports].map(String) as [string, string, string];
  const dataDir = path.join(folder, '.data');
  const server = await startProcess({
    entry: 'standalone/main.ts',
    env: { PORT: port, SANDBOX_PORT: sandboxPort, BILLING_PORT: billingPort, DATA_DIR: dataDir, ...env },
    ready: { line: /is ready after/ },
  });
  await waitForNoDisk(dataDir);
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    sandboxUrl: `http://127.0.0.1:${sandboxPort}`,
    billingUrl: `http://127.0.0.1:${billingPort}`,
    mailDir: path.join(dataDir, 'mail'),
    async stop() {
      await server.kill('SIGTERM');
      const database = path.join(dataDir, 'postgres');
      // Outside of it where only root may enter the temp folder.
      if (existsSync(database)) rmSync(realpathSync(database), { recursive: true });
      rmSync(folder, { recursive: true });
    },
  };
}

export type Standalone = Awaited<ReturnType<typeof startStandalone>>;

/**
 * From here on its database is like that of the files that run side by side (run-tests.ts): what these tests cut off
 * are processes, not power.
 */
async function waitForNoDisk(dataDir: string): Promise<void> {
  const [, , , port] = readFileSync(path.join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n');
  const { DATABASE_PASSWORD: password } = JSON.parse(
    readFileSync(path.join(dataDir, 'secrets.json'), 'utf8'),
  );
  const client = new pg.Client({
    connectionString: `postgres://posthorn:${password}@127.0.0.1:${port}/posthorn`,
  });
  await client.connect();
  try {
    await client.query('ALTER SYSTEM SET fsync = off');
    await client.query('SELECT pg_reload_conf()');
  } finally {
    await client.end();
  }
}
