import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { startPostgres } from '../support/postgres.ts';
import { freePort, startProcess, waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';

describe('the messaging server without its database', () => {
  test('answers 503 with Retry-After, names the fault in /ready, and recovers by itself', async () => {
    const postgres = await startPostgres();
    await migrate(postgres.url);
    const log = createLog({ level: 'silent', role: 'test' });
    const db = createDb({ url: postgres.url, poolSize: 2, log, name: 'test' });
    const owner = await seedCompany(db);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const running = await startProcess({
      entry: 'server/messaging/main.ts',
      env: {
        NODE_ENV: 'test',
        LOG_LEVEL: 'warn',
        DATABASE_URL: postgres.url,
        AMQP_URL: 'amqp://127.0.0.1:1',
        JWT_SECRET: 'a secret of the tests, long enough for HS256',
        ENCRYPTION_KEY: '5a'.repeat(32),
        PORT: String(port),
      },
      ready: { url: `${url}/ready` },
    });
    const list = () => fetch(`${url}/v1/instances`, { headers: { 'x-api-key': owner.apiKey } });
    try {
      assert.equal((await list()).status, 200);
      await postgres.kill();
      const ready = await fetch(`${url}/ready`);
      assert.equal(ready.status, 503);
      const { status, checks } = (await ready.json()) as { status: string; checks: Record<string, string> };
      assert.equal(status, 'unavailable');
      assert.notEqual(checks.database, 'ok');
      for (let i = 0; i < 5; i += 1) {
        const answer = await list();
        const body = (await answer.json()) as Record<string, string>;
        assert.deepEqual([answer.status, body.error_code], [503, 'SERVICE_UNAVAILABLE']);
        assert.ok(Number(answer.headers.get('retry-after')) >= 1);
        assert.equal(body.trace_id, answer.headers.get('x-trace-id'));
        assert.equal(JSON.stringify(body).includes('127.0.0.1'), false, 'no internals in the answer');
      }
      assert.equal((await fetch(`${url}/health`)).status, 200);
      await postgres.restart();
      await waitFor(async () => (await list()).status === 200);
      await waitFor(async () => (await fetch(`${url}/ready`)).status === 200);
      assert.equal(running.output().includes(owner.apiKey), false, 'no key in the log');
    } finally {
      await running.kill();
      await db.close();
      await postgres.stop();
    }
  });
});
