import { readFileSync } from 'node:fs';
import { freePort } from '@posthorn/test/support/process.ts';
import { measureRate } from '../end-to-end/drive.ts';
import { startStandalone } from '../end-to-end/pipelines.ts';
import { startReceiver } from '../end-to-end/receiver.ts';
import type { BenchDatabases } from '../servers.ts';
import { inspect } from './inspector.ts';

export interface HeapAt {
  messages: number;
  /** MiB in use after a forced collection. */
  heap: number;
  /** MiB of the whole process. */
  rss: number;
}

const MIB = 1024 * 1024;
const STEPS = 8;

/**
 * The heap of the single process of `npm start`, including the simulated network, after each eighth of
 * `messages` texts sent from the request to the webhook.
 */
export async function measureHeapGrowth(databases: BenchDatabases, messages: number): Promise<HeapAt[]> {
  const receiver = await startReceiver();
  const port = await freePort();
  const pipeline = await startStandalone(databases, receiver, {
    database: 'bench_memory',
    env: { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` },
  });
  const inspector = await inspect(port);
  const measured: HeapAt[] = [];
  try {
    const step = Math.ceil(messages / STEPS);
    for (let done = 0; done <= messages; done += step) {
      measured.push({
        messages: done,
        heap: (await inspector.heapAfterCollection()) / MIB,
        rss: rssOf(pipeline.pid!) / MIB,
      });
      if (done < messages) await measureRate(pipeline.target, receiver, step);
    }
  } finally {
    inspector.close();
    receiver.close();
    await pipeline.stop();
  }
  return measured;
}

function rssOf(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) * 1024;
}
