import { parentPort, workerData } from 'node:worker_threads';
import { attacksOn, textOf } from './attacks.ts';
import type { Task, Verdict } from './try-patterns.ts';

/** The thread of `tryPatterns`: attacks one pattern after another, and reports the result of each. */

/** The number of the running attack: the other side reads it when no answer comes any more. */
const underWay = new Int32Array(workerData as SharedArrayBuffer);

parentPort!.on('message', (task: Task) => parentPort!.postMessage(judge(task)));

function judge({ source, flags, chars, limitMs }: Task): Verdict {
  const pattern = new RegExp(source, flags);
  // As `replace`, `split`, `test` and `exec` use it.
  const all = new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
  const attacks = attacksOn(source, flags);
  for (const [nth, attack] of attacks.entries()) {
    Atomics.store(underWay, 0, nth);
    const text = textOf(attack, chars);
    const run = () => {
      pattern.lastIndex = 0;
      pattern.test(text);
      text.replace(all, '');
    };
    try {
      // Measured twice before it counts: other load on the machine is no fault of the pattern.
      const ms = cpuMs(run);
      if (ms > limitMs && cpuMs(run) > limitMs)
        return { attacks: nth + 1, fault: `takes ${Math.round(ms)} ms`, attack };
    } catch (err) {
      return { attacks: nth + 1, fault: `throws ${String(err)}`, attack };
    }
  }
  return { attacks: attacks.length, fault: null, attack: null };
}

/** The time of this thread alone, which does not depend on the load of the machine. */
function cpuMs(run: () => void): number {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
