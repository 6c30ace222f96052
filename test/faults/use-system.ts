import type { TestContext } from 'node:test';
import { cloneTemplate, type PostgresServer, startTestPostgres } from '../support/postgres.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { IS_WHOLE } from '../support/size.ts';
import { type System, startSystem } from '../support/system.ts';

// Module state on purpose: the tests of a file share it, and it ends with their process.
let server: Promise<PostgresServer> | undefined;

/**
 * A system of its own for one test, stopped at its end however it ends. Its file has a PostgreSQL of its own: a frozen
 * process keeps its transactions open, and they delay the event logs of all databases of a server.
 */
export async function useSystem(
  t: TestContext,
  options: {
    messaging?: number;
    billing?: number;
    workers?: number;
    amqpUrl?: string;
    env?: Record<string, string>;
    /** Opens the way on which its processes reach the database, given its URL; returns the new URL. */
    over?: (databaseUrl: string) => Promise<string>;
  } = {},
): Promise<System> {
  server ??= startTestPostgres({ fsync: IS_WHOLE });
  const database = await cloneTemplate((await server).url);
  const amqpUrl = options.amqpUrl ?? (await createTestVhost()).url;
  const env = { ...options.env, ...(options.over && { DATABASE_URL: await options.over(database.url) }) };
  const system = await startSystem({ ...options, env, databaseUrl: database.url, amqpUrl });
  t.after(async () => {
    // A process that a failed test left frozen could not end.
    for (const process of [...system.messaging, ...system.billing, ...system.workers])
      process.signal('SIGCONT');
    await system.stop();
    await database.drop();
  });
  return system;
}
