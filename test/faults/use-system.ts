import type { TestContext } from 'node:test';
import { createTestDatabase } from '../support/postgres.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { type System, startSystem } from '../support/system.ts';

/** A system of its own for one test, stopped at its end however it ends. */
export async function useSystem(
  t: TestContext,
  options: { workers?: number; messaging?: number; amqpUrl?: string } = {},
): Promise<System> {
  const database = await createTestDatabase();
  const amqpUrl = options.amqpUrl ?? (await createTestVhost()).url;
  const { workers = 1, messaging = 1 } = options;
  const system = await startSystem({ databaseUrl: database.url, amqpUrl, workers, messaging });
  t.after(async () => {
    // What a failed test left frozen could not end.
    for (const process of [...system.messaging, ...system.workers]) process.signal('SIGCONT');
    await system.stop();
    await database.drop();
  });
  return system;
}
