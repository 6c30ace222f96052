import type { Sql } from '../../platform/database/db.ts';
import { wakeBillingWorker } from '../billing-bus.ts';

/**
 * - `sync_subscription`: the provider learns the price and cycle of the next charges; subject: subscription.
 * - `end_subscription`: it stops charging. `check_subscription`: whether it still does.
 * - `load_charges`: the charges it has made. `load_pix`: the PIX code of one; subject: charge.
 * - `sync_customer`: the profile has changed; subject: profile.
 */
export type TaskKind =
  | 'sync_subscription'
  | 'end_subscription'
  | 'check_subscription'
  | 'load_charges'
  | 'load_pix'
  | 'sync_customer';

/**
 * Queues a change for the provider, in the transaction of the change. The task reads the data to send when it runs: it
 * brings the provider to our present state, however many attempts that takes.
 */
export async function queueTask(
  sql: Sql,
  task: { kind: TaskKind; companyId: number; subjectId: number; at: Date },
): Promise<void> {
  await sql.query(
    `INSERT INTO billing.provider_tasks AS t (key, kind, company_id, subject_id, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (key) DO UPDATE
     SET version = t.version + 1, attempts = 0, next_attempt_at = excluded.next_attempt_at`,
    [keyOf(task), task.kind, task.companyId, task.subjectId, task.at],
  );
  await wakeBillingWorker(sql, 'tasks');
}

export async function dropTask(sql: Sql, task: { kind: TaskKind; subjectId: number }): Promise<void> {
  await sql.query('DELETE FROM billing.provider_tasks WHERE key = $1', [keyOf(task)]);
}

function keyOf(task: { kind: TaskKind; subjectId: number }): string {
  return `${task.kind}:${task.subjectId}`;
}
