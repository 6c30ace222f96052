/**
 * Loaded first into programs that a test starts with `watchedEnv()`: writes down the answers that they get from our
 * servers.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { watchFetch } from './watch-fetch.ts';

const told = process.env.POSTHORN_TEST_ANSWERS;
// At once, since a test may kill the program at any time.
if (told && isMainThread) watchFetch((answer) => appendFileSync(told, `${JSON.stringify(answer)}\n`));
