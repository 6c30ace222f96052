import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { createTestDatabase } from '../support/postgres.ts';
import {
  baseEnv,
  freePort,
  projectRoot,
  type RunningProcess,
  startProcess,
  waitFor,
} from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { seedCompany } from '../support/seed.ts';
import { type System, startSystem } from '../support/system.ts';
import { PROFILE } from './billing-harness.ts';

describe('billing as a process beside messaging and the worker, over RabbitMQ', () => {
  let database: { url: string; drop(): Promise<void> };
  let system: System;
  let billing: RunningProcess;
  let url: string;
  before(async () => {
    database = await createTestDatabase();
    const vhost = await createTestVhost();
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;
    system = await startSystem({
      databaseUrl: database.url,
      amqpUrl: vhost.url,
      env: { BILLING_PORT: port, BILLING_INTERNAL_URL: url, INTERNAL_SECRET: 'i'.repeat(40) },
    });
    billing = await startProcess({
      entry: 'server/billing/main.ts',
      env: system.env,
      ready: { url: `${url}/ready` },
    });
  });
  after(async () => {
    await billing?.kill('SIGTERM');
    await system?.stop();
    await database?.drop();
  });

  const post = async (path: string, key: string, body: unknown) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: JSON.parse((await answer.text()) || 'null') };
  };

  it('sends messaging the limits of a plan within a second, and gets webhooks from its provider', async () => {
    const company = await seedCompany(system.db, { requestsPerMinute: 500 });
    const limit = async () =>
      (
        await fetch(`${system.urls[0]}/v1/instances`, { headers: { 'x-api-key': company.apiKey } })
      ).headers.get('x-ratelimit-limit');
    assert.equal(await limit(), '500');
    assert.equal((await post('/v1/billing/profile', company.apiKey, PROFILE)).status, 201);
    const since = performance.now();
    const made = await post('/v1/billing/subscriptions', company.apiKey, {
      plan_code: 'pro_monthly',
      billing_type: 'pix',
    });
    assert.equal(made.status, 201);
    // Long before the cached limit would expire by itself, 30 s later.
    await waitFor(async () => (await limit()) === '1200', 20_000, { everyMs: 10 });
    tellFigure('the limits of a plan reach messaging', performance.now() - since, { atMost: 1_000 });
    // The simulated provider reaches our ingestion, and the worker processes what it says.
    await post('/v1/billing/simulator/actions', company.apiKey, { action: 'pay' });
    await waitFor(async () => {
      const { rows } = await system.db.query<{ status: string }>(
        'SELECT status FROM billing.subscriptions WHERE company_id = $1',
        [company.companyId],
      );
      return rows[0]!.status === 'active';
    });
  });

  it('ends in order at SIGTERM', async () => {
    const before = billing.output();
    assert.equal(await billing.kill('SIGTERM'), 0);
    assert.equal(billing.output().slice(before.length), '');
    await billing.restart();
  });

  it('has no worker in production without a provider: the worker logs it and keeps running', async () => {
    const port = String(await freePort());
    const worker = await startProcess({
      entry: 'worker/main.ts',
      env: { ...system.env, NODE_ENV: 'production', WORKER_PORT: port },
      ready: { url: `http://127.0.0.1:${port}/ready` },
    });
    await worker.kill('SIGTERM');
    assert.match(worker.output(), /no payment provider is set/);
  });

  it('reports wrong settings in one line', async () => {
    for (const [env, told] of [
      [{ ASAAS_API_KEY: 'k' }, /^billing: ASAAS_WEBHOOK_SECRET is required with ASAAS_API_KEY\n$/],
      [
        { NODE_ENV: 'production' },
        /^billing: ASAAS_API_KEY is required in production[^\n]+BILLING_SIMULATED[^\n]+\n$/,
      ],
      // With this setting it continues until it finds its port taken.
      [{ NODE_ENV: 'production', BILLING_SIMULATED: 'true' }, /^billing: port \d+ is in use[^\n]+\n$/],
      [{ ASAAS_BASE_URL: 'asaas' }, /^billing: ASAAS_BASE_URL: [^\n]+\n$/],
      [{}, /^billing: port \d+ is in use[^\n]+\n$/],
    ] as const) {
      const child = spawn(process.execPath, ['server/billing/main.ts'], {
        cwd: projectRoot,
        env: { ...baseEnv(), ...system.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
      assert.equal(code, 1);
      assert.match(said, told);
    }
  });
});
