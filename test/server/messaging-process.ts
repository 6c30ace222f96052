import { after, before } from 'node:test';
import { createParts, type Parts } from '../support/parts.ts';
import { freePort, type RunningProcess, startProcess, waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';

export const MESSAGING = 'server/messaging/main.ts';

/** The messaging server in a process of its own, over one database for all tests of a suite. */
export interface MessagingProcess {
  parts(): Parts;
  owner(): SeededCompany;
  /** The settings of a server at `port`, with `more` beside or instead of the usual ones. */
  envOf(port: number, more?: Record<string, string>): Record<string, string>;
  /** Starts one, and gives it once it is ready. */
  start(more?: Record<string, string>): Promise<{ url: string; port: number; running: RunningProcess }>;
  /** Waits until a request for a code is under way. */
  looksForCode(): Promise<unknown>;
}

export function useMessagingProcess(): MessagingProcess {
  let parts: Parts;
  let owner: SeededCompany;
  before(async () => {
    parts = await createParts();
    owner = await seedCompany(parts.db);
  });
  after(() => parts.close());

  const envOf = (port: number, more: Record<string, string> = {}): Record<string, string> => ({
    NODE_ENV: 'test',
    DATABASE_URL: parts.url,
    AMQP_URL: 'amqp://127.0.0.1:1',
    JWT_SECRET: 'a secret of the tests, long enough for HS256',
    ENCRYPTION_KEY: '5a'.repeat(32),
    PORT: String(port),
    SHUTDOWN_GRACE_SECONDS: '5',
    PUBLIC_RATE_PER_MINUTE: '1000000',
    ...more,
  });
  return {
    parts: () => parts,
    owner: () => owner,
    envOf,
    async start(more) {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const running = await startProcess({
        entry: MESSAGING,
        env: envOf(port, more),
        ready: { url: `${url}/ready` },
      });
      return { url, port, running };
    },
    looksForCode: () =>
      waitFor(
        async () => {
          const looked = await parts.db.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
               AND query LIKE '%instance_pairings%' AND query NOT LIKE '%pg_stat_activity%'`,
          );
          return looked.rows.length > 0;
        },
        undefined,
        { what: 'the server looks for a code' },
      ),
  };
}
