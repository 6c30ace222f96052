import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createShutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { openTracing } from '@posthorn/core/platform/tracing/open-tracing.ts';
import { requestSpanId, type TracedStep } from '@posthorn/core/platform/tracing/trace.ts';
import { startOtlpCollector } from '@posthorn/test/support/otlp-collector.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { createTestClock } from '../support/test-clock.ts';

const log = createLog({ level: 'silent', role: 'test' });

async function open(url: string | undefined, share = 1) {
  const shutdown = createShutdown({ log, graceMs: 10_000 });
  const trace = await openTracing({
    config: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER_ARG: share },
    service: 'test',
    clock: createTestClock(new Date('2026-01-02T03:04:05.678Z')),
    log,
    shutdown,
  });
  return { trace, end: () => shutdown.begin('the test is over') };
}

async function startCollector(t: TestContext) {
  const collector = await startOtlpCollector();
  t.after(collector.close);
  return collector;
}

const step = (traceId: string, more: Partial<TracedStep> = {}): TracedStep => ({
  traceId,
  name: 'send',
  kind: 'client',
  durationMs: 250,
  attributes: { 'posthorn.attempt': 2, 'posthorn.operation': 'text' },
  ...more,
});

describe('tracing', () => {
  it('exports the steps of one request as one trace under its trace id, whatever comes first', async (t) => {
    const collector = await startCollector(t);
    const { trace, end } = await open(`${collector.url}/`);
    const traceId = randomUUID();
    trace!(step(traceId, { failure: 'timeout' }));
    trace!(
      step(traceId, { name: 'POST messages.sendText', kind: 'server', isRequest: true, durationMs: 40 }),
    );
    await end();
    const [sent, request] = collector.spans;
    assert.equal(sent!.traceId, traceId.replaceAll('-', ''));
    assert.equal(sent!.parentSpanId, requestSpanId(traceId));
    assert.deepEqual(sent!.attributes, { 'posthorn.attempt': 2, 'posthorn.operation': 'text' });
    assert.equal(sent!.isError, true);
    assert.equal(sent!.endMs, Date.parse('2026-01-02T03:04:05.678Z'));
    assert.equal(sent!.endMs - sent!.startMs, 250);
    assert.deepEqual(
      [request!.traceId, request!.spanId, request!.parentSpanId, request!.isError],
      [sent!.traceId, requestSpanId(traceId), '', false],
    );
    assert.equal(request!.service, 'posthorn-test');
  });

  it('sends a share of the traces, and those whole', async (t) => {
    const collector = await startCollector(t);
    const { trace, end } = await open(collector.url, 0.5);
    for (let i = 0; i < 400; i += 1) {
      const traceId = randomUUID();
      trace!(step(traceId));
      trace!(step(traceId, { isRequest: true }));
    }
    await end();
    const traces = new Set(collector.spans.map(({ traceId }) => traceId)).size;
    assert.ok(traces > 120 && traces < 280, `${traces} of 400`);
    assert.equal(collector.spans.length, traces * 2);
  });

  it('costs nothing but the spans when the collector is away', async () => {
    const { trace, end } = await open('http://127.0.0.1:9');
    for (let i = 0; i < 5_000; i += 1) trace!(step(randomUUID()));
    await end();
  });

  it('is off without a collector, and then nothing of its library is loaded', async () => {
    assert.equal((await open(undefined)).trace, undefined);
    // All roles, as npm start composes them.
    const program = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({
        load(url, context, next) {
          if (url.includes('@opentelemetry/')) loaded.push(url.replace(/.*@opentelemetry./, '').split('/')[0]);
          return next(url, context);
        },
      });
      await import('./standalone/src/start.ts');
      console.log(JSON.stringify([...new Set(loaded)]));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: projectRoot,
      encoding: 'utf8',
    });
    // prom-client loads the API alone, with its types and the switch for what is on: 60 kB that were loaded before,
    // too.
    assert.deepEqual(JSON.parse(printed), ['api']);
  });
});
