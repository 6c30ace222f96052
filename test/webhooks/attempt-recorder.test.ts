import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '@posthorn/core/platform/db.ts';
import { createLog } from '@posthorn/core/platform/log.ts';
import { createAttemptRecorder } from '@posthorn/worker/webhooks/attempt-recorder.ts';
import { successOf } from './support.ts';

const MICROTASKS = 20;

test('a result that comes in the very moment in which a write ends is written too', async () => {
  for (let after = 0; after < MICROTASKS; after += 1) {
    const written: number[] = [];
    let late: Promise<void> | null = null;
    const query = (config: { values: unknown[] }) => {
      // One result alone: its columns, the delivery's id first.
      written.push(Number(config.values[0]));
      const done = Promise.resolve({ rows: [] });
      late ??= done.then(async () => {
        for (let i = 0; i < after; i += 1) await null;
        recorder.add(successOf(2));
      });
      return done;
    };
    const log = createLog({ level: 'silent', role: 'test' });
    const recorder = createAttemptRecorder({ db: { query } as unknown as Db, log });
    recorder.add(successOf(1));
    await delay(5);
    await late;
    await recorder.stop();
    assert.deepEqual(written, [1, 2], `${after} microtasks after the answer`);
  }
});
