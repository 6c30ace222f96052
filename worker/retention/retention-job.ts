import { IDEMPOTENCY_KEY_LIFETIME_S, WEBHOOK_PAYLOAD_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import { sweepDeviceState } from '@posthorn/core/instances/device-state.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import {
  type DayPartitionedTable,
  deleteInBatches,
  dropOldPartitions,
  ensurePartitions,
} from '@posthorn/core/platform/database/partitions.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { removePlaygroundMessages } from '@posthorn/core/playground/remove-messages.ts';
import { createLoneJob, type LoneJob, type LoneJobDeps } from '../lone-job.ts';

const EVERY_MS = 600_000;
const AHEAD_DAYS = 7;
/** Payloads are the events themselves (LIM-8: 14 days); the log views reach back at most 7 days. */
const LOGS: readonly DayPartitionedTable[] = [
  { name: 'events', retentionDays: WEBHOOK_PAYLOAD_RETENTION_DAYS },
  { name: 'webhook_delivery_logs', retentionDays: 30 },
];

/** Rows with a retention time: table, the column (or expression) with their age, and the time. */
interface Aging {
  table: string;
  column: string;
  keepMs: number;
}

/** Rows that are kept for days. */
const SHORT_KEPT: readonly Aging[] = [
  { table: 'idempotency_keys', column: 'created_at', keepMs: IDEMPOTENCY_KEY_LIFETIME_S * 1000 },
  { table: 'finished_changes', column: 'finished_at', keepMs: IDEMPOTENCY_KEY_LIFETIME_S * 1000 },
  // The counters cover the last 24 hours.
  { table: 'usage_minutes', column: 'minute', keepMs: 2 * DAY_MS },
];

/** Rows that are kept for weeks. A round reads these tables whole, so there is one a day. */
const LONG_KEPT: readonly Aging[] = [
  // A delivery without its event can't be made; its webhook was disabled all that time.
  {
    table: 'webhook_deliveries',
    column: 'event_created_at',
    keepMs: WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS,
  },
  // The message itself is kept like others; this row holds its body, which can be read for a while.
  {
    table: 'scheduled_sends',
    column: 'finished_at',
    keepMs: WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS,
  },
  // Tries of tasks that began and never came back.
  { table: 'work_tries', column: 'first_at', keepMs: 7 * DAY_MS },
  // Today's rows are counted, and older ones can still be viewed.
  { table: 'playground_sends', column: 'created_at', keepMs: WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS },
  // Data that quotes, forwards and votes refer to; keys are kept as long as the pairing.
  { table: 'session_keys', column: 'temporary_since', keepMs: 30 * DAY_MS },
  // Posts for instances that nobody has connected since.
  { table: 'network_inbox', column: 'received_at', keepMs: 30 * DAY_MS },
  // The view of a connection shows the last 20.
  { table: 'instance_moves', column: 'created_at', keepMs: 90 * DAY_MS },
];

export type RetentionJob = LoneJob<true>;

/** Creates the partitions of the coming days and removes data past its retention (LIM-8), but for rows that are kept for weeks. */
export function createRetentionJob(deps: LoneJobDeps): RetentionJob {
  return createLoneJob(deps, {
    name: 'the retention job',
    lock: ADVISORY_LOCKS.retention,
    everyMs: EVERY_MS,
    round: (signal, onFailure) => cleanUp(deps, { signal, onFailure }),
  });
}

/** Removes rows that are kept for weeks and are past their retention (LIM-8). */
export function createLongRetentionJob(
  deps: LoneJobDeps & { config: Pick<Config, 'AUDIT_RETENTION_DAYS'> },
): RetentionJob {
  const keepMs = deps.config.AUDIT_RETENTION_DAYS * DAY_MS;
  return createLoneJob(deps, {
    name: 'the retention of rows for weeks',
    lock: ADVISORY_LOCKS.longRetention,
    everyMs: DAY_MS,
    async round(signal, onFailure): Promise<true> {
      const rows = [...LONG_KEPT, { table: 'audit_log', column: 'created_at', keepMs }];
      await removeRows(deps, rows, { signal, onFailure });
      return true;
    },
  });
}

interface Round {
  signal: AbortSignal;
  onFailure: () => void;
}

async function removeRows(
  { db, clock, log }: LoneJobDeps,
  rows: readonly Aging[],
  round: Round,
): Promise<void> {
  const now = clock.now().getTime();
  for (const { table, column, keepMs } of rows) {
    const aged = { table, column, before: new Date(now - keepMs), signal: round.signal };
    await runStep(`retention of ${table}`, () => deleteInBatches(db, aged), { log, ...round });
  }
}

async function cleanUp(deps: LoneJobDeps, round: Round): Promise<true> {
  const { db, clock, log } = deps;
  const step = (what: string, work: () => Promise<unknown>) => runStep(what, work, { log, ...round });
  const now = clock.now();
  // Each step runs on its own: a blocked one must not prevent the others.
  for (const table of LOGS) {
    await step(`partitions of ${table.name}`, () =>
      ensurePartitions(db, table, { now, aheadDays: AHEAD_DAYS }),
    );
    await step(`retention of ${table.name}`, () => dropOldPartitions(db, table, { now }));
  }
  await removeRows(deps, SHORT_KEPT, round);
  await step('retention of the playground', () => removePlaygroundMessages(db, now));
  await step('removing the remains of deleted instances', () => sweepDeviceState(db));
  return true;
}

async function runStep(
  what: string,
  work: () => Promise<unknown>,
  { log, signal, onFailure }: Round & { log: Log },
): Promise<void> {
  if (signal.aborted) return;
  try {
    await work();
  } catch (err) {
    if (signal.aborted) return;
    log.warn({ err }, `${what} failed, will be retried`);
    onFailure();
  }
}
