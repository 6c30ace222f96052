import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';

const create = () => createMetrics({ collectProcess: false });

describe('the metrics of a process', () => {
  it('add the counts of two parts under one name and the same labels', async () => {
    const metrics = create();
    metrics.counter('lost_total', 'Lost', { connection: 'broker' })();
    metrics.counter('lost_total', 'Lost', { connection: 'broker' })(2);
    metrics.counter('lost_total', 'Lost', { connection: 'database' });
    const text = await metrics.read();
    assert.match(text, /^# TYPE lost_total counter$/m);
    assert.match(text, /^lost_total\{connection="broker"\} 3$/m);
    assert.match(text, /^lost_total\{connection="database"\} 0$/m);
    assert.equal(text.match(/# HELP lost_total/g)?.length, 1);
  });

  it('put a duration into its bucket and all above it', async () => {
    const metrics = create();
    const observe = metrics.timer('took_seconds', 'Took', { outcome: 'sent' });
    for (const ms of [0.5, 30, 400_000]) observe(ms);
    const text = await metrics.read();
    const bucket = (le: string) =>
      Number(new RegExp(`^took_seconds_bucket\\{outcome="sent",le="${le}"\\} (\\d+)$`, 'm').exec(text)![1]);
    assert.deepEqual(['0.001', '0.025', '0.05', '300', '\\+Inf'].map(bucket), [1, 1, 2, 2, 3]);
    assert.match(text, /^took_seconds_sum\{outcome="sent"\} 400\.0305$/m);
  });

  it('leave out a metric that cannot be looked up, and report the others', async () => {
    const metrics = create();
    metrics.gauges('waiting', 'Waiting', () => Promise.reject(new Error('the database is away')));
    metrics.gauge('held', 'Held', () => 7);
    const text = await metrics.read();
    assert.match(text, /^held 7$/m);
    assert.doesNotMatch(text, /^waiting/m);
  });

  it('refuse one name for two things', () => {
    const metrics = create();
    metrics.counter('things', 'Things');
    assert.throws(() => metrics.gauge('things', 'Things', () => 1), /two different metrics things/);
  });
});
