import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createLog, type Log } from '@posthorn/core/platform/process/log.ts';
import { waitFor } from '../support/process.ts';

function recorded(stormWindowMs: number): { log: Log; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  return { lines, log: createLog({ level: 'info', role: 'test', stormWindowMs, to: { write } }) };
}

const refused = (port: number) =>
  Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' });

describe('a storm of equal failures', () => {
  it('is its first line at once and one more with the count', async () => {
    const { log, lines } = recorded(1_000);
    for (let i = 0; i < 1_000; i += 1) log.error({ err: refused(i), trace_id: `t${i}` }, 'request failed');
    assert.equal(lines.length, 1);
    assert.equal(lines[0]!.trace_id, 't0');
    await waitFor(() => lines.length > 1);
    assert.equal(lines.length, 2);
    assert.deepEqual(
      [lines[1]!.msg, lines[1]!.repeated, lines[1]!.code, lines[1]!.level],
      ['request failed (again)', 999, 'ECONNREFUSED', 50],
    );
    assert.deepEqual(lines[1]!.trace_ids, ['t1', 't2', 't3', 't4', 't5']);
  });

  it('is written as it comes once it has passed', async () => {
    const { log, lines } = recorded(50);
    log.warn({ err: refused(1) }, 'x');
    await delay(150);
    log.warn({ err: refused(1) }, 'x');
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['x', 'x'],
    );
  });

  it('that continues is one line a window', async () => {
    const windowMs = 100;
    const { log, lines } = recorded(windowMs);
    const since = performance.now();
    for (; lines.length < 4; await delay(1)) log.warn({ err: refused(1) }, 'x');
    assert.ok(performance.now() - since >= 3 * windowMs - 1, `4 lines after ${performance.now() - since} ms`);
  });

  it('hides no other failure, and nothing that is none', () => {
    const { log, lines } = recorded(1_000);
    for (const err of [new Error('a'), new Error('b'), new TypeError('a')]) log.error({ err }, 'failed');
    log.error({ err: new Error('a') }, 'failed otherwise');
    log.warn({ err: new Error('a') }, 'failed');
    for (let i = 0; i < 10; i += 1) log.warn({ company_id: i }, 'a company was suspended');
    for (let i = 0; i < 10; i += 1) log.info({ err: new Error('a') }, 'told');
    assert.equal(lines.length, 25);
  });

  it('stays a few lines when every fault has other words', () => {
    const { log, lines } = recorded(1_000);
    const word = (i: number) => String.fromCharCode(...[...String(i)].map((digit) => 97 + Number(digit)));
    for (let i = 0; i < 5_000; i += 1) log.error({ err: new Error(word(i)) }, 'failed');
    assert.ok(lines.length <= 501, `${lines.length} lines`);
  });
});
