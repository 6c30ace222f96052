import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Probed } from './probe.ts';

/** The thread of `probeWhile`: one request every 25 ms, each counted from the moment it was due. */

const EVERY_MS = 25;
/** Fewer than a company may have open while the process is overloaded (LIM-15): who has more is refused with reason. */
const OPEN_MAX = 50;
const {
  url,
  headers = {},
  expect = 200,
} = workerData as {
  url: string;
  headers?: Record<string, string>;
  expect?: number;
};
const probed: Probed = { slowestMs: 0, requests: 0, failures: [] };
let stopping = false;
parentPort!.once('message', () => {
  stopping = true;
});

await ask(performance.now());
probed.slowestMs = 0;
parentPort!.postMessage('ready');
const pending = new Set<Promise<unknown>>();
for (let dueMs = performance.now(); !stopping; dueMs += EVERY_MS) {
  await delay(Math.max(0, dueMs - performance.now()));
  while (pending.size >= OPEN_MAX) await Promise.race(pending);
  const asked = ask(dueMs);
  pending.add(asked);
  void asked.then(() => pending.delete(asked));
}
await Promise.all(pending);
parentPort!.postMessage(probed);

async function ask(dueMs: number): Promise<void> {
  probed.requests += 1;
  try {
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    if (response.status !== expect) probed.failures.push(String(response.status));
  } catch (err) {
    probed.failures.push(String((err as Error).cause ?? err));
  }
  probed.slowestMs = Math.max(probed.slowestMs, performance.now() - dueMs);
}
