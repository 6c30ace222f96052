import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { apiError } from '@posthorn/contract/api-error.ts';
import { createLanes } from '../platform/database/lanes.ts';
import type { DetectedType } from './media-type.ts';

/** Tells what files are, in threads of its own. */
export interface TypeDetector {
  /**
   * The type of a file by its content (`detectType`); a file that misleads the parser is unknown bytes. Companies have turns.
   * Throws 503 SERVICE_UNAVAILABLE where the machine is too busy to tell, and an error where no thread starts.
   */
  detect(file: DetectJob, companyId: number): Promise<DetectedType>;
  close(): Promise<void>;
}

export interface DetectJob {
  path: string;
  declared: string;
}
export type DetectAnswer = { type: DetectedType } | { error: Error };
/** A thread's first message. `tid`: its number, where the kernel tells the processor time of threads. */
export interface DetectReady {
  tid?: string;
}

const THREADS = 2;
/**
 * The processor time that a thread may spend on one file, which takes a few milliseconds. Where processor time cannot be read,
 * the elapsed time counts instead.
 */
const LIMIT_MS = 5_000;
/** A thread that waits for the processor may take this many times the limit in elapsed time. */
const PATIENCE = 6;
const UNKNOWN: DetectedType = { mimeType: 'application/octet-stream', animated: false };

interface Waiting {
  job: DetectJob;
  companyId: number;
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
  const queue = createLanes<Waiting>(({ companyId }) => companyId);
  let idle: Worker[] = [];
  const threads = new Map<Worker, DetectReady | null>();
  let closed = false;

  function next(): void {
    while (queue.size() > 0) {
      const thread = idle.pop();
      if (thread) run(thread, queue.take(1)[0]!);
      else if (threads.size < THREADS && !closed) start();
      else return;
    }
  }

  function start(): void {
    const thread = startThread(entry, {
      ready(said) {
        threads.set(thread, said);
        rest(thread);
      },
      ended(cause) {
        // It was never ready: the next one would most likely fail alike, and so for ever.
        if (!threads.get(thread)) queue.take(1)[0]?.reject(notStarted(cause));
        threads.delete(thread);
        idle = idle.filter((other) => other !== thread);
        next();
      },
    });
    threads.set(thread, null);
  }

  function rest(thread: Worker): void {
    thread.unref();
    idle.push(thread);
    next();
  }

  function run(thread: Worker, { job, resolve, reject }: Waiting): void {
    thread.ref();
    const { tid } = threads.get(thread)!;
    const since = { atMs: performance.now(), usedMs: usedMsOf(tid) };
    let hasWaited = false;
    const done = (settle: () => void) => {
      clearInterval(timer);
      thread.off('message', onAnswer);
      thread.off('exit', onExit);
      settle();
    };
    const onAnswer = (answer: DetectAnswer) => {
      done(() => ('type' in answer ? resolve(answer.type) : reject(answer.error)));
      rest(thread);
    };
    // It ran out of memory or was terminated: the file that it read is not tried again.
    const onExit = () => done(() => (hasWaited ? reject(tooBusy()) : resolve(UNKNOWN)));
    const timer = setInterval(() => {
      const elapsedMs = performance.now() - since.atMs;
      const isMisled = (tid === undefined ? elapsedMs : usedMsOf(tid) - since.usedMs) >= limitMs;
      hasWaited = !isMisled && elapsedMs >= limitMs * PATIENCE;
      if (isMisled || hasWaited) void thread.terminate();
    }, limitMs / 10);
    thread.on('message', onAnswer);
    thread.once('exit', onExit);
    thread.postMessage(job);
  }

  return {
    detect: (job, companyId) =>
      new Promise((resolve, reject) => {
        queue.add({ job, companyId, resolve, reject });
        next();
      }),
    async close() {
      closed = true;
      await Promise.all([...threads.keys()].map((thread) => thread.terminate()));
      for (const { reject } of queue.take(queue.size())) reject(new Error('closed'));
    },
  };
}

function startThread(
  entry: URL,
  tell: { ready(said: DetectReady): void; ended(cause: unknown): void },
): Worker {
  const thread = new Worker(entry);
  let cause: unknown;
  thread.once('message', tell.ready);
  thread.on('error', (err) => {
    cause = err;
  });
  thread.once('exit', () => tell.ended(cause));
  return thread;
}

function notStarted(cause: unknown): Error {
  return new Error('types of files cannot be detected', { cause });
}

function tooBusy(): Error {
  return apiError('SERVICE_UNAVAILABLE', {
    message: 'the type of the file could not be detected in time, try again later',
    headers: { 'retry-after': '5' },
  });
}

/** The processor time that a thread of this process has used; 0 for one that has ended. */
function usedMsOf(tid: string | undefined): number {
  if (tid === undefined) return 0;
  try {
    return Number(readFileSync(`/proc/self/task/${tid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}
