import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ReadMail, readMails } from '../../accounts/support/mailbox.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { freePort, startProcess, waitFor } from '../../support/process.ts';

/** The e-mail of the superadmin, who chooses a password by a mailed link. */
export const ROOT_EMAIL = 'root@example.com';

export interface ConsoleServer {
  url: string;
  billingUrl: string;
  /** The sandbox's control API: makes phones act. */
  sandbox(path: string, body: object): Promise<unknown>;
  /** Waits for the newest mail to an address whose text matches. */
  mailTo(address: string, text: RegExp): Promise<ReadMail>;
  /** The URL of its database, for rows that would take long to make over the API. */
  databaseUrl: string;
  /** Ends the process as a service manager does. */
  stop(): Promise<void>;
  /** Starts it again with its stored data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The whole service in one process, as `npm start` runs it. Instances wait for a phone to pair with them; `hasOfficial`
 * also offers official numbers, which the sandbox simulates too.
 */
export async function startConsoleServer({ hasOfficial = false } = {}): Promise<ConsoleServer> {
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-console-'));
  const [port, sandboxPort, billingPort] = [await freePort(), await freePort(), await freePort()];
  const dataDir = path.join(dir, '.data');
  const database = await createTestDatabase();
  const server = await startProcess({
    entry: 'standalone/main.js',
    env: {
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      PORT: String(port),
      SANDBOX_PORT: String(sandboxPort),
      BILLING_PORT: String(billingPort),
      SANDBOX_AUTO_PAIR: 'false',
      SUPERADMIN_EMAILS: ROOT_EMAIL,
      RATE_LIMIT_PER_MINUTE: '10000',
      PUBLIC_RATE_PER_MINUTE: '1000',
      OAUTH_GITHUB_ENABLED: 'true',
      OAUTH_GITHUB_CLIENT_ID: 'console',
      OAUTH_GITHUB_CLIENT_SECRET: 'secret',
      // The tests look only at the address of the redirect.
      OAUTH_GITHUB_URL: 'http://127.0.0.1:9',
      ...(hasOfficial && {
        NETWORK_DRIVERS: 'sandbox,whatsapp-cloud',
        GRAPH_URL: `http://127.0.0.1:${sandboxPort}/graph`,
      }),
    },
    ready: { line: /is ready after/ },
  });
  return {
    url: `http://127.0.0.1:${port}`,
    billingUrl: `http://127.0.0.1:${billingPort}`,
    async sandbox(at, body) {
      const answer = await fetch(`http://127.0.0.1:${sandboxPort}${at}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`);
      return answer.json();
    },
    mailTo: (address, text) =>
      waitFor(async () => {
        const mails = await readMails(path.join(dataDir, 'mail'));
        return mails.filter((mail) => mail.to === address && text.test(mail.text)).at(-1);
      }),
    databaseUrl: database.url,
    async stop() {
      await server.kill('SIGTERM');
    },
    restart: () => server.restart(),
    async close() {
      await server.kill('SIGTERM');
      await database.drop();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
