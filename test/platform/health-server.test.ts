import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HealthServer, startHealthServer } from '@posthorn/core/platform/http/health-server.ts';
import { createMetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';

describe('the health of a process that serves nothing else', () => {
  let server: HealthServer;
  let isDraining = false;
  let isDatabaseUp = true;
  const metrics = createMetrics({ collectProcess: false });
  metrics.gauge('posthorn_sessions', 'Sessions', () => 7);
  before(async () => {
    server = await startHealthServer({
      service: 'worker',
      host: '127.0.0.1',
      port: 0,
      checks: {
        database: async () => {
          if (!isDatabaseUp) throw new Error('connect ECONNREFUSED db.internal:5432 as user posthorn');
        },
      },
      isDraining: () => isDraining,
      metrics,
      mayReadMetrics: createMetricsAccess(undefined),
    });
  });
  after(() => server.close());

  async function get(path: string, headers: Record<string, string> = {}) {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
    return { status: answer.status, text: await answer.text() };
  }

  it('reports that it runs, and its current load', async () => {
    assert.deepEqual(await get('/health'), { status: 200, text: '{"status":"ok","service":"worker"}' });
    assert.match((await get('/metrics')).text, /^posthorn_sessions 7$/m);
    assert.equal((await get('/elsewhere')).status, 404);
  });

  it('shows its metrics to this machine alone, and not through a proxy on it', async () => {
    assert.equal((await get('/metrics', { 'x-forwarded-for': '198.51.100.1' })).status, 401);
  });

  it('is ready while its dependencies are, and names the missing ones without their hosts', async () => {
    assert.equal((await get('/ready')).status, 200);
    isDatabaseUp = false;
    const { status, text } = await get('/ready?probe=1');
    assert.equal(status, 503);
    assert.deepEqual(JSON.parse(text), {
      status: 'unavailable',
      service: 'worker',
      checks: { database: 'down' },
    });
    isDatabaseUp = true;
  });

  it('is not ready while it drains', async () => {
    isDraining = true;
    const { status, text } = await get('/ready');
    assert.equal(status, 503);
    assert.equal(JSON.parse(text).checks.process, 'draining');
    assert.equal((await get('/health')).status, 200);
    isDraining = false;
  });
});
