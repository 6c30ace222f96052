/** A thread of the type detector, type-detector.ts. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { detectType } from './media-type.ts';
import type { DetectAnswer, DetectJob } from './type-detector.ts';

// On Linux a priority is a thread's own: one that runs in circles leaves the processor to everything else.
if (process.platform === 'linux') setPriority(10);

const answer = (value: DetectAnswer) => parentPort!.postMessage(value);

parentPort!.on('message', async ({ path, declared }: DetectJob) => {
  await detectType(path, declared).then(
    (type) => answer({ type }),
    (error) => answer({ error }),
  );
});
answer('ready');
