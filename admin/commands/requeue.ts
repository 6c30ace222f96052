import { StartError } from '@posthorn/core/platform/run-main.ts';
import { RETRIES_NOTIFICATION } from '@posthorn/core/webhooks/notifications.ts';
import type { AdminCommand } from '../command.ts';

/** Makes waiting work due now, and wakes the processes that do it. No outcome and no attempt number changes. */
const KINDS: Readonly<Record<string, { sql: string; wakes: [channel: string, payload: string] }>> = {
  // Wake-ups are published again. A task that somebody is ending is left to them: two that lock the rows of many tasks, each in
  // its own order, end in a deadlock.
  sends: {
    sql: `UPDATE outbox SET published_at = NULL WHERE task_id IN (
            SELECT task_id FROM outbox WHERE published_at IS NOT NULL FOR UPDATE SKIP LOCKED)`,
    wakes: ['outbox', ''],
  },
  // Deliveries under way keep their lease. A receiver that asked for a pause gets it.
  deliveries: {
    sql: `UPDATE webhook_deliveries SET next_attempt_at = now()
          WHERE attempts > 0 AND next_attempt_at > now() AND claimed_by IS NULL
            AND (leased_until IS NULL OR leased_until < now()) AND (early_from IS NULL OR early_from <= now())`,
    wakes: ['deliveries', RETRIES_NOTIFICATION],
  },
  mails: {
    sql: `UPDATE mails SET next_attempt_at = now() WHERE failed_at IS NULL AND next_attempt_at > now()`,
    wakes: ['mail', ''],
  },
};

export const requeue: AdminCommand = {
  usage: 'requeue sends|deliveries|mails',
  summary: 'retry everything at once that waits for its next attempt, e.g. after an outage',
  prepare(args) {
    const [name = ''] = args;
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (!kind || args.length > 1)
      throw new StartError(`requeue takes one of ${Object.keys(KINDS).join(', ')}`);
    return async ({ db, tell }) => {
      const { rowCount } = await db.query(kind.sql);
      await db.query('SELECT pg_notify($1, $2)', kind.wakes);
      tell(`${rowCount ?? 0} ${name} are due now`);
      return true;
    };
  },
};
