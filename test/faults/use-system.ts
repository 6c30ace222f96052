import type { TestContext } from 'node:test';
import { createTestDatabase } from '../support/postgres.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { type System, startSystem } from '../support/system.ts';

/** A system of its own for one test, stopped at its end however it ends. */
export async function useSystem(
  t: TestContext,
  options: { workers?: number; amqpUrl?: string } = {},
): Promise<System> {
  const database = await createTestDatabase();
  const amqpUrl = options.amqpUrl ?? (await createTestVhost()).url;
  const system = await startSystem({ databaseUrl: database.url, amqpUrl, workers: options.workers ?? 1 });
  t.after(async () => {
    await system.stop();
    await database.drop();
  });
  return system;
}
