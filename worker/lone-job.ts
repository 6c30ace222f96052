import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import { WORKER_NAME } from './ownership/membership.ts';

/** A periodic job that runs in one process at a time. */
export interface LoneJob<T> {
  start(): void;
  /** Tells the current round to end; resolves when it has. */
  stop(): Promise<void>;
  /** Runs one round now; null if another process is running it. */
  runOnce(): Promise<T | null>;
}

export interface LoneJobDeps {
  db: Db;
  clock: Clock;
  log: Log;
  /** Where failed rounds are counted. */
  metrics?: Metrics;
}

/** How often a process looks whether a round is due. After a process died in its round, another one runs it within this time. */
const LOOK_EVERY_MS = 10_000;

/**
 * Runs `round` every `everyMs` of the clock. The first process that finds a round due takes the advisory lock `lock` and runs it. A round
 * that throws is logged and runs again at its next time, and so does one that calls `onFailure` and goes on with its other work: both are counted
 * in /metrics. If the process dies, another one runs the round again. With `everywhere`, each process runs rounds of its own, for the files
 * of its machine.
 */
export function createLoneJob<T>(
  deps: LoneJobDeps,
  job: {
    name: string;
    lock: number;
    everyMs: number;
    everywhere?: boolean;
    round: (signal: AbortSignal, onFailure: () => void) => Promise<T>;
  },
): LoneJob<T> {
  const { db, clock, log } = deps;
  const stopping = new AbortController();
  let loop: Loop | null = null;
  const countFailure = deps.metrics?.counter(
    'posthorn_job_failures_total',
    'Rounds of clean-up jobs that failed, in whole or in part',
    { name: job.name },
  );

  async function isDue(): Promise<boolean> {
    if (job.everywhere) return true;
    const { rows } = await db.query<{ finished_at: Date | null }>(
      'SELECT finished_at FROM lone_jobs WHERE name = $1',
      [job.name],
    );
    const finishedAt = rows[0]?.finished_at ?? null;
    if (finishedAt === null) return true;
    // A database that fails over follows another clock: a time that is far ahead now would hold the job up until then.
    return Math.abs(clock.now().getTime() - finishedAt.getTime()) >= job.everyMs;
  }

  /** Null if another process holds the lock, or if `onlyIfDue` and it is not. */
  async function runOnce(onlyIfDue: boolean): Promise<T | null> {
    // The lock has its own connection; the database frees it when this process dies.
    const client = await db.pool.connect();
    let failed = true;
    try {
      const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [
        job.lock,
      ]);
      const isMine = rows[0]!.mine;
      const isToRun = isMine && (!onlyIfDue || (await isDue()));
      const outcome = isToRun ? await runNoted(deps, job, { signal: stopping.signal, countFailure }) : null;
      // Unlock before returning the connection: closing it would free the lock too, but later.
      if (isMine) await client.query('SELECT pg_advisory_unlock($1)', [job.lock]);
      failed = false;
      return outcome;
    } finally {
      // After a failure the connection is closed, which always frees the lock.
      client.release(failed);
    }
  }

  return {
    start() {
      loop = startLoop({
        clock,
        everyMs: job.everywhere ? job.everyMs : LOOK_EVERY_MS,
        run: async () => void ((await isDue()) && (await runOnce(true))),
        onError: (err) => log.warn({ err }, `${job.name} failed, will be retried`),
      });
    },
    async stop() {
      stopping.abort();
      await loop?.stop();
    },
    runOnce: () => runOnce(false),
  };
}

/** Runs a round, and notes where it runs and when it ended. */
async function runNoted<T>(
  { db, clock }: LoneJobDeps,
  job: { name: string; round: (signal: AbortSignal, onFailure: () => void) => Promise<T> },
  { signal, countFailure }: { signal: AbortSignal; countFailure: (() => void) | undefined },
): Promise<T> {
  await db.query(
    `INSERT INTO lone_jobs (name, worker, started_at) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET worker = $2, started_at = $3`,
    [job.name, WORKER_NAME, clock.now()],
  );
  let hasFailed = false;
  const onFailure = () => {
    hasFailed = true;
  };
  try {
    return await job.round(signal, onFailure);
  } catch (err) {
    onFailure();
    throw err;
  } finally {
    if (hasFailed && !signal.aborted) countFailure?.();
    // A round that was told to end is not over: another process goes on with it.
    if (!signal.aborted)
      await db.query('UPDATE lone_jobs SET finished_at = $2 WHERE name = $1', [job.name, clock.now()]);
  }
}
