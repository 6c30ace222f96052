import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { testConfig } from '../support/config.ts';
import { tellFigure } from '../support/figures.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { freePort, type RunningProcess, startProcess } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { createApi } from './support/api-client.ts';
import { newCompanyName, newEmail, PASSWORD } from './support/people.ts';

const LOGINS_PER_SECOND = 100;
const OTHERS_PER_SECOND = 50;
const SECONDS = 20;
const ACCOUNTS = 40;

describe('a storm of logins', () => {
  let database: { url: string; drop(): Promise<void> };
  let server: RunningProcess;
  let db: Db;
  let baseUrl: string;
  let key: string;
  const emails: string[] = [];
  before(async () => {
    database = await createTestDatabase();
    db = createDb({
      url: database.url,
      poolSize: 2,
      log: createLog({ level: 'silent', role: 'test' }),
      name: 'test',
    });
    key = (await seedCompany(db)).apiKey;
    const port = await freePort();
    baseUrl = `http://127.0.0.1:${port}`;
    const { JWT_SECRET, ENCRYPTION_KEY } = testConfig();
    server = await startProcess({
      entry: 'server/messaging/main.ts',
      env: {
        NODE_ENV: 'test',
        LOG_LEVEL: 'warn',
        PORT: String(port),
        DATABASE_URL: database.url,
        AMQP_URL: 'amqp://127.0.0.1:1',
        JWT_SECRET,
        ENCRYPTION_KEY,
        PUBLIC_RATE_PER_MINUTE: '1000000',
      },
      ready: { url: `${baseUrl}/ready` },
    });
    const api = createApi(baseUrl);
    for (let i = 0; i < ACCOUNTS; i++) {
      const email = newEmail();
      emails.push(email);
      const body = {
        company_name: newCompanyName(),
        owner_email: email,
        owner_name: 'O',
        password: PASSWORD,
      };
      assert.equal((await api('POST', '/v1/auth/register', { body })).status, 201);
    }
  });
  after(async () => {
    await server.kill('SIGTERM');
    await db.close();
    await database.drop();
  });

  test(`${LOGINS_PER_SECOND} logins a second for ${SECONDS} s: p99 of other routes (aim: under 500 ms)`, async () => {
    const api = createApi(baseUrl);
    const login = (at: number) => () =>
      api('POST', '/v1/auth/login', { body: { email: emails[at % ACCOUNTS], password: PASSWORD } });
    const others = [
      () => api('GET', '/v1/tokens', { key }),
      () => api('GET', '/v1/instances', { key }),
      () => api('POST', '/v1/tokens', { key, body: {} }),
      () => api('GET', '/health'),
    ];
    const [logins, rest] = await Promise.all([
      atRate(LOGINS_PER_SECOND, (at) => login(at)),
      atRate(OTHERS_PER_SECOND, (at) => others[at % others.length]!),
    ]);
    const count = (status: number) => logins.filter((each) => each.status === status).length;
    console.log(
      `logins: ${count(200)} × 200, ${count(503)} × 503 of ${logins.length}, p50 ${percentile(logins, 0.5)} ms, p99 ${percentile(logins, 0.99)} ms`,
    );
    console.log(
      `other routes: ${rest.length}, p50 ${percentile(rest, 0.5)} ms, p99 ${percentile(rest, 0.99)} ms, max ${percentile(rest, 1)} ms`,
    );
    assert.ok(rest.every((each) => each.status < 300));
    assert.equal(count(200) + count(503), logins.length, 'a login too many is refused, never broken');
    tellFigure('p99 of other routes', percentile(rest, 0.99), { atMost: 500 });
  });
});

interface Sample {
  status: number;
  ms: number;
}

/** Starts them at a steady rate without waiting for answers, as strangers do. */
async function atRate(
  perSecond: number,
  pick: (at: number) => () => Promise<{ status: number }>,
): Promise<Sample[]> {
  const startedAt = performance.now();
  const under: Promise<Sample>[] = [];
  for (let at = 0; at < perSecond * SECONDS; at++) {
    const waitMs = startedAt + (at * 1000) / perSecond - performance.now();
    if (waitMs > 0) await delay(waitMs);
    const sentAt = performance.now();
    under.push(pick(at)().then(({ status }) => ({ status, ms: performance.now() - sentAt })));
  }
  return Promise.all(under);
}

function percentile(samples: Sample[], share: number): number {
  const sorted = samples.map((sample) => sample.ms).sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
}
