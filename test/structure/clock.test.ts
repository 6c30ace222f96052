import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSources } from './sources.ts';

/** The clock itself, and code about the machine's own time: waits, the age of files, a process that was frozen. */
const OWN_TIME: readonly string[] = [
  'core/platform/process/clock.ts',
  'core/platform/database/database-clock.ts',
  'core/platform/broker/notification-waits.ts',
  'server/messaging/start.ts',
  'worker/media/media-retention-job.ts',
  'worker/ownership/membership.ts',
];

describe('time', () => {
  test('is taken from the clock that is handed over', () => {
    const taken = readSources()
      .filter(({ file }) => /^(core|server|worker)\//.test(file) && !OWN_TIME.includes(file))
      .filter(({ text }) => /\bDate\.now\(\)|\bnew Date\(\)/.test(text))
      .map(({ file }) => file);
    assert.deepEqual(taken, []);
  });
});
