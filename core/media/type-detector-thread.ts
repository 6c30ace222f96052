/** A thread of the type detector, type-detector.ts. */
import { readFileSync, readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { detectType } from './media-type.ts';
import type { DetectAnswer, DetectJob, DetectReady } from './type-detector.ts';

// On Linux a priority is a thread's own: one that runs in circles leaves the processor to everything else.
if (process.platform === 'linux') setPriority(10);

const answer = (value: DetectAnswer | DetectReady) => parentPort!.postMessage(value);

parentPort!.on('message', async ({ path, declared }: DetectJob) => {
  await detectType(path, declared).then(
    (type) => answer({ type }),
    (error) => answer({ error }),
  );
});
// Loaded before the first file, so that no file is charged for it.
await import('file-type');
answer(readTid());

/** Leaves the number out where the kernel does not tell processor times. */
function readTid(): DetectReady {
  try {
    readFileSync('/proc/thread-self/schedstat');
    return { tid: readlinkSync('/proc/thread-self').split('/').at(-1)! };
  } catch {
    return {};
  }
}
