import {
  DUPLICATE_CONTENT_WINDOW_S,
  IDEMPOTENCY_KEY_LIFETIME_S,
  WEBHOOK_PAYLOAD_RETENTION_DAYS,
} from '@posthorn/contract/limits.ts';
import { sweepDeviceState } from '@posthorn/core/instances/device-state.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import {
  type DayPartitionedTable,
  deleteInBatches,
  dropOldPartitions,
  ensurePartitions,
} from '@posthorn/core/platform/database/partitions.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { removePlaygroundMessages } from '@posthorn/core/playground/remove-messages.ts';
import { createLoneJob, type LoneJob } from '../lone-job.ts';

const EVERY_MS = 600_000;
const AHEAD_DAYS = 7;
/** Payloads are the events themselves (LIM-8: 14 days); the views of logs reach back 7 days at most. */
const LOGS: readonly DayPartitionedTable[] = [
  { name: 'events', retentionDays: WEBHOOK_PAYLOAD_RETENTION_DAYS },
  { name: 'webhook_delivery_logs', retentionDays: 30 },
];
/** What is kept for a time only: table, the column (or expression) that tells its age, and the time. */
const ROWS = [
  { table: 'idempotency_keys', column: 'created_at', keepMs: IDEMPOTENCY_KEY_LIFETIME_S * 1000 },
  { table: 'finished_changes', column: 'finished_at', keepMs: IDEMPOTENCY_KEY_LIFETIME_S * 1000 },
  { table: 'sent_contents', column: 'first_sent_at', keepMs: DUPLICATE_CONTENT_WINDOW_S * 1000 },
  // A delivery without its event can't be made: its webhook was disabled all the time.
  {
    table: 'webhook_deliveries',
    column: 'event_created_at',
    keepMs: WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS,
  },
  // Its message is kept as others are; this has its body, under which it may be asked for for a while.
  {
    table: 'scheduled_sends',
    column: "(CASE WHEN status IN ('queued', 'failed', 'cancelled') THEN coalesce(finished_at, send_at) END)",
    keepMs: WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS,
  },
  // Of what was begun and never came again.
  { table: 'work_tries', column: 'first_at', keepMs: 7 * DAY_MS },
  // Today's are counted, and the older ones can still be looked at.
  { table: 'playground_sends', column: 'created_at', keepMs: WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS },
  // What quotes, forwards and votes refer to; keys are kept as long as the pairing.
  { table: 'session_keys', column: 'temporary_since', keepMs: 30 * DAY_MS },
  // The counters answer for the last 24 hours.
  { table: 'usage_minutes', column: 'minute', keepMs: 2 * DAY_MS },
];

interface Deps {
  db: Db;
  clock: Clock;
  log: Log;
}

export type RetentionJob = LoneJob<true>;

/** Prepares the partitions of the days to come and removes what is past its retention (LIM-8). */
export function createRetentionJob(deps: Deps): RetentionJob {
  return createLoneJob(deps, {
    name: 'the retention job',
    lock: ADVISORY_LOCKS.retention,
    everyMs: EVERY_MS,
    round: (signal) => cleanUp(deps, signal),
  });
}

async function cleanUp(deps: Deps, signal: AbortSignal): Promise<true> {
  const { db, clock, log } = deps;
  const step = (what: string, work: () => Promise<unknown>) => runStep(what, work, { log, signal });
  const now = clock.now();
  // Each step by itself: one that is blocked for now must not keep the others from being done.
  for (const table of LOGS) {
    await step(`partitions of ${table.name}`, () =>
      ensurePartitions(db, table, { now, aheadDays: AHEAD_DAYS }),
    );
    await step(`retention of ${table.name}`, () => dropOldPartitions(db, table, { now }));
  }
  for (const { table, column, keepMs } of ROWS)
    await step(`retention of ${table}`, () =>
      deleteInBatches(db, {
        table,
        column,
        before: new Date(now.getTime() - keepMs),
        signal,
      }),
    );
  await step('retention of the playground', () => removePlaygroundMessages(db, now));
  await step('what is left of deleted instances', () => sweepDeviceState(db));
  return true;
}

async function runStep(
  what: string,
  work: () => Promise<unknown>,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return;
  try {
    await work();
  } catch (err) {
    if (!signal.aborted) log.warn({ err }, `${what} failed, will be tried again`);
  }
}
