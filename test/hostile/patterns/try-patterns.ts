import { Worker } from 'node:worker_threads';
import { type Attack, attacksOn } from './attacks.ts';

export interface Task {
  source: string;
  flags: string;
  /** How long the attacks are. */
  chars: number;
  /** CPU time that one attack may take. */
  limitMs: number;
}

export interface Verdict {
  attacks: number;
  /** The fault of the pattern; null: it has withstood every attack. */
  fault: string | null;
  attack: Attack | null;
}

/** No answer for this long means that the pattern hangs; sound ones take a tenth of a second. */
const HANGS_MS = 20_000;

/**
 * Attacks patterns in a thread of its own, so that a hanging pattern is ended and named, and the next one runs in a new
 * thread.
 */
export async function tryPatterns(
  tasks: readonly Task[],
  { hangsMs = HANGS_MS }: { hangsMs?: number } = {},
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let thread = openThread();
  try {
    for (const task of tasks) {
      const verdict = await thread.ask(task, hangsMs);
      if (verdict) verdicts.push(verdict);
      else {
        const nth = thread.underWay();
        verdicts.push({ attacks: nth + 1, fault: 'hangs', attack: attacksOn(task.source, task.flags)[nth]! });
        await thread.close();
        thread = openThread();
      }
    }
  } finally {
    await thread.close();
  }
  return verdicts;
}

function openThread() {
  const shared = new SharedArrayBuffer(4);
  const worker = new Worker(new URL('./try-thread.ts', import.meta.url), { workerData: shared });
  return {
    underWay: () => Atomics.load(new Int32Array(shared), 0),
    /** Null when no answer comes. */
    async ask(task: Task, hangsMs: number): Promise<Verdict | null> {
      const { promise, resolve, reject } = Promise.withResolvers<Verdict | null>();
      const timer = setTimeout(() => resolve(null), hangsMs);
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(task);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        worker.off('message', resolve);
        worker.off('error', reject);
      }
    },
    close: () => worker.terminate(),
  };
}
