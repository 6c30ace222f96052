import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';

/** The result of a probe while something hostile ran. */
export interface Probed {
  /** The slowest answer, in ms, from the moment the request was due. */
  slowestMs: number;
  requests: number;
  /** Statuses other than the expected one, and errors: empty when nobody else was affected. */
  failures: string[];
}

/** The longest time that another company may wait while somebody is hostile to the same process. */
export const PROBE_LIMIT_MS = 500;

/**
 * Asks `url` every 25 ms, as another company would, while `hostile` runs, and returns the results of both.
 *
 * The probe runs in a thread of its own: a server that blocks this thread's event loop shows as blocked, and a request
 * that was due during a standstill counts from the moment it was due.
 */
export async function probeWhile<T>(
  target: { url: string; headers?: Record<string, string>; expect?: number },
  hostile: () => Promise<T>,
): Promise<{ result: T; probed: Probed }> {
  const thread = new Worker(new URL('./probe-thread.ts', import.meta.url), { workerData: target });
  await new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  try {
    const result = await hostile();
    const answered = new Promise<Probed>((resolve) => thread.once('message', resolve));
    thread.postMessage('stop');
    return { result, probed: await answered };
  } finally {
    await thread.terminate();
  }
}

/**
 * Asserts that nobody else was affected. A wrong count always fails a test; a time does only beyond the excuse of a
 * busy machine, at ten times the limit, and at the limit itself in a whole run (`POSTHORN_FULL=1`).
 */
export function assertUnhurt(probed: Probed, what: string): void {
  assert.deepEqual(probed.failures, [], `${what}: another company's requests failed`);
  assert.ok(probed.requests > 0, `${what}: the probe made no request`);
  const line = `${what}: slowest answer to another company ${Math.round(probed.slowestMs)} ms`;
  console.log(line);
  const limitMs = process.env.POSTHORN_FULL ? PROBE_LIMIT_MS : 10 * PROBE_LIMIT_MS;
  assert.ok(probed.slowestMs < limitMs, `${line} (limit ${limitMs})`);
}
