import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTestDatabase } from '../support/postgres.ts';
import { freePort, startProcess } from '../support/process.ts';

/**
 * The whole system as `npm start` runs it, on free ports, with its own data folder and database. The database is on the
 * run's server: `test/standalone/` tests the creation of a server, which takes longer than the rest of the start.
 */
export async function startStandalone(env: Record<string, string> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'posthorn-standalone-'));
  const ports = new Set<number>();
  while (ports.size < 3) ports.add(await freePort());
  const [port, sandboxPort, billingPort] = [...ports].map(String) as [string, string, string];
  const dataDir = path.join(folder, '.data');
  const database = await createTestDatabase();
  const places = { DATA_DIR: dataDir, DATABASE_URL: database.url };
  const server = await startProcess({
    entry: 'standalone/main.js',
    env: { PORT: port, SANDBOX_PORT: sandboxPort, BILLING_PORT: billingPort, ...places, ...env },
    ready: { line: /is ready after/ },
  });
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    sandboxUrl: `http://127.0.0.1:${sandboxPort}`,
    billingUrl: `http://127.0.0.1:${billingPort}`,
    mailDir: path.join(dataDir, 'mail'),
    async stop() {
      await server.kill('SIGTERM');
      await database.drop();
      rmSync(folder, { recursive: true });
    },
  };
}

export type Standalone = Awaited<ReturnType<typeof startStandalone>>;
