/**
 * Loaded first into every test process by run-tests.ts: ends a process that runs on long after its last test, e.g.
 * because a test that ran into its limit left something open. Without it such a file would delay the run until its own
 * limit.
 */
import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';

/** Longer than the hooks of a file take, which come after this one. */
const lateMs = Number(process.env.POSTHORN_TEST_LATE_MS);

if (isMainThread)
  after(() => {
    setTimeout(() => {
      process.stderr.write(`${process.argv[1]} goes on ${lateMs / 1_000} s after its last test\n`);
      process.exit(1);
    }, lateMs).unref();
  });
