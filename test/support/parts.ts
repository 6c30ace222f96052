import { type Bus, createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog, type Log } from '@posthorn/core/platform/process/log.ts';
import { createTestDatabase } from './postgres.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

/** The real parts that most use cases take, on a database of the test file's own. */
export interface Parts {
  url: string;
  db: Db;
  bus: Bus;
  log: Log;
  clock: TestClock;
  close(): Promise<void>;
}

export async function createParts(options: { log?: Log } = {}): Promise<Parts> {
  const database = await createTestDatabase();
  const log = options.log ?? createLog({ level: process.env.TEST_LOG_LEVEL ?? 'silent', role: 'test' });
  const db = createDb({ url: database.url, poolSize: 20, log, name: 'test' });
  const bus = await createBus({ url: database.url, log, name: 'test' });
  return {
    url: database.url,
    db,
    bus,
    log,
    clock: createTestClock(new Date()),
    async close() {
      await bus.close();
      await db.close();
      await database.drop();
    },
  };
}
