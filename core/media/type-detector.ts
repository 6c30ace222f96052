import { Worker } from 'node:worker_threads';
import type { DetectedType } from './media-type.ts';

/** Tells what files are, in threads of its own. */
export interface TypeDetector {
  /** The type of a file by its content (`detectType`); what can't be told in time is unknown bytes. */
  detect(path: string, declared: string): Promise<DetectedType>;
  close(): Promise<void>;
}

export interface DetectJob {
  path: string;
  declared: string;
}
export type DetectAnswer = 'ready' | { type: DetectedType } | { error: Error };

const THREADS = 2;
/** From the moment a thread has it. A file takes a few milliseconds; the rest is for machines that are busy. */
const LIMIT_MS = 10_000;
const UNKNOWN: DetectedType = { mimeType: 'application/octet-stream', animated: false };

interface Waiting {
  job: DetectJob;
  resolve(type: DetectedType): void;
  reject(err: unknown): void;
}

/**
 * A parser that is misled by a stranger's file blocks its whole thread, and no timer of that thread can stop it. So
 * it has threads that can be terminated: such a file costs one thread and its own type, and waiting files go to
 * another.
 */
export function createTypeDetector(options: { limitMs?: number; entry?: URL } = {}): TypeDetector {
  const { limitMs = LIMIT_MS, entry = new URL('./type-detector-thread.ts', import.meta.url) } = options;
  const queue: Waiting[] = [];
  const idle: Worker[] = [];
  const threads = new Set<Worker>();
  let closed = false;

  function next(): void {
    for (let waiting = queue[0]; waiting; waiting = queue[0]) {
      const thread = idle.pop();
      if (thread) {
        queue.shift();
        run(thread, waiting);
      } else if (threads.size < THREADS && !closed) start();
      else return;
    }
  }

  function start(): void {
    const thread = new Worker(entry);
    threads.add(thread);
    thread.once('message', () => {
      thread.unref();
      idle.push(thread);
      next();
    });
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      threads.delete(thread);
      const at = idle.indexOf(thread);
      if (at >= 0) idle.splice(at, 1);
      next();
    });
  }

  function run(thread: Worker, { job, resolve, reject }: Waiting): void {
    thread.ref();
    const done = (settle: () => void) => {
      clearTimeout(timer);
      thread.off('message', onAnswer);
      thread.off('exit', onExit);
      settle();
    };
    const onAnswer = (answer: Exclude<DetectAnswer, 'ready'>) => {
      thread.unref();
      idle.push(thread);
      done(() => ('type' in answer ? resolve(answer.type) : reject(answer.error)));
      next();
    };
    // It ran out of memory or was terminated: the file that it read is not tried again.
    const onExit = () => done(() => resolve(UNKNOWN));
    const timer = setTimeout(() => void thread.terminate(), limitMs);
    thread.on('message', onAnswer);
    thread.once('exit', onExit);
    thread.postMessage(job);
  }

  return {
    detect: (path, declared) =>
      new Promise((resolve, reject) => {
        queue.push({ job: { path, declared }, resolve, reject });
        next();
      }),
    async close() {
      closed = true;
      await Promise.all([...threads].map((thread) => thread.terminate()));
      for (const { reject } of queue.splice(0)) reject(new Error('closed'));
    },
  };
}
