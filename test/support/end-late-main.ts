/**
 * Loaded first into every test process by run-tests.ts: ends a process that runs for longer than a file may, e.g. because
 * test after test waits for a server that one of them killed, and one that runs on long after its last test, e.g. because
 * a test that ran into its limit left something open. run() itself ends neither: it limits each test, and no file.
 */
import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';

const fileMs = Number(process.env.POSTHORN_TEST_FILE_MS);
/** Longer than the hooks of a file take, which come after this one. */
const lateMs = Number(process.env.POSTHORN_TEST_LATE_MS);

if (isMainThread) {
  endIn(fileMs, `still runs after ${fileMs / 1_000} s`);
  after(() => endIn(lateMs, `goes on ${lateMs / 1_000} s after its last test`));
}

function endIn(ms: number, why: string): void {
  setTimeout(() => {
    process.stderr.write(`${process.argv[1]} ${why}\n`);
    process.exit(1);
  }, ms).unref();
}
