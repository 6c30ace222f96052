import type { TestContext } from 'node:test';
import { createTestDatabase } from '../support/postgres.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { type System, startSystem } from '../support/system.ts';

/** A system of its own for one test, stopped at its end however it ends. */
export async function useSystem(
  t: TestContext,
  options: {
    messaging?: number;
    billing?: number;
    workers?: number;
    amqpUrl?: string;
    env?: Record<string, string>;
  } = {},
): Promise<System> {
  const database = await createTestDatabase();
  const amqpUrl = options.amqpUrl ?? (await createTestVhost()).url;
  const system = await startSystem({ ...options, databaseUrl: database.url, amqpUrl });
  t.after(async () => {
    // What a failed test left frozen could not end.
    for (const process of [...system.messaging, ...system.billing, ...system.workers])
      process.signal('SIGCONT');
    await system.stop();
    await database.drop();
  });
  return system;
}
