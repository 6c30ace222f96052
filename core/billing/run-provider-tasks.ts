import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { holderIsGone, type Pulse } from '../workers/pulse.ts';
import { writeCharge } from './charges/write-charge.ts';
import { addCycle } from './dates.ts';
import type { BillingDeps } from './deps.ts';
import { ProfileSchema } from './entities.ts';
import { lockCompany } from './lock-company.ts';
import { customerFields } from './payers/tokenize-card.ts';
import { type ListedPayment, ProviderError } from './provider/port.ts';
import type { TaskKind } from './provider/provider-tasks.ts';
import { endByProvider } from './provider-events/process-event.ts';
import { readNextInvoice } from './subscriptions/next-invoice.ts';
import { settleSubscription } from './subscriptions/settle-subscription.ts';

type TaskDeps = Pick<BillingDeps, 'db' | 'orm' | 'clock' | 'provider' | 'log'> & {
  /** Absent: others can take over this worker's claims only when they expire. */
  pulse?: Pulse;
};

interface Task {
  id: number;
  kind: TaskKind;
  company_id: number;
  subject_id: number;
  version: number;
  attempts: number;
}

/** Longer than any task's calls take; the tasks of a dead worker are released at once. */
const LEASE_MS = 120_000;
const RETRY_MS = [5_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000];

/** Runs one due task; false when there is none. A provider that fails is asked again, forever. */
export async function runDueTask(deps: TaskDeps): Promise<boolean> {
  const task = await takeTask(deps);
  if (!task) return false;
  try {
    await RUN[task.kind](deps, task);
  } catch (err) {
    await postpone(deps, task, err);
    return true;
  }
  // Requested again meanwhile: then it stays, and runs once more.
  await deps.db.query('DELETE FROM billing.provider_tasks WHERE id = $1 AND version = $2', [
    task.id,
    task.version,
  ]);
  await deps.db.query(
    'UPDATE billing.provider_tasks SET leased_until = NULL, claimed_by = NULL WHERE id = $1',
    [task.id],
  );
  return true;
}

async function takeTask(deps: TaskDeps): Promise<Task | undefined> {
  if (deps.pulse && !deps.pulse.isAlive()) return undefined;
  const now = deps.clock.now();
  const { rows } = await deps.db.query<Task>(
    `UPDATE billing.provider_tasks SET leased_until = $2, claimed_by = $3
     WHERE id = (SELECT id FROM billing.provider_tasks
                 WHERE next_attempt_at <= $1 AND (leased_until IS NULL OR leased_until <= $1 OR ${holderIsGone('claimed_by')})
                 ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING id, kind, company_id, subject_id, version, attempts`,
    [now, new Date(now.getTime() + LEASE_MS), deps.pulse?.id() ?? null],
  );
  return rows[0];
}

async function postpone(deps: TaskDeps, task: Task, err: unknown): Promise<void> {
  const waitMs = RETRY_MS[Math.min(task.attempts, RETRY_MS.length - 1)]!;
  const why = err instanceof ProviderError ? `${err.fault} ${err.code ?? ''}`.trim() : 'error';
  await deps.db.query(
    `UPDATE billing.provider_tasks
     SET attempts = attempts + 1, last_error = $3, leased_until = NULL, claimed_by = NULL,
         next_attempt_at = CASE WHEN version = $2 THEN $4 ELSE next_attempt_at END
     WHERE id = $1`,
    [task.id, task.version, why, new Date(deps.clock.now().getTime() + waitMs)],
  );
  deps.log.warn(
    { err, task: task.kind, company_id: task.company_id, attempts: task.attempts + 1 },
    'provider task failed',
  );
}

const RUN: Record<TaskKind, (deps: TaskDeps, task: Task) => Promise<void>> = {
  sync_subscription: syncSubscription,
  end_subscription: endSubscription,
  check_subscription: checkSubscription,
  load_charges: (deps, task) => loadCharges(deps, task),
  load_pix: loadPix,
  sync_customer: syncCustomer,
};

interface Terms {
  over: boolean;
  provider_id: string;
}

/** Cancelled, closed after its trial, or ended by the clock: also one that a payment has reopened since. */
const IS_OVER_THERE = 'num_nonnulls(cancelled_at, closed_at, ended_by_clock_at) > 0';

/**
 * The provider's next charges have the price of the next invoice: the scheduled plan and all add-ons. Also of a trial that
 * has expired and waits for a late payment, which applies the scheduled plan.
 */
async function syncSubscription(deps: TaskDeps, task: Task): Promise<void> {
  const { rows } = await deps.db.query<Terms>(
    `SELECT ${IS_OVER_THERE} AS over, asaas_subscription_id AS provider_id FROM billing.subscriptions WHERE id = $1`,
    [task.subject_id],
  );
  const terms = rows[0];
  if (!terms || terms.over) return;
  const { provider_id } = terms;
  const { cycle, valueCents, planName } = await readNextInvoice(deps.db, task.subject_id);
  // By what is there: a payment may have brought the plan before the provider could be told of it.
  const isNews = (await deps.provider.readSubscription(provider_id))?.cycle !== cycle;
  const due = isNews ? await dueAfterChange(deps, provider_id, cycle) : null;
  // First: one that cannot be deleted must not get the price of a longer cycle.
  for (const { id } of due?.surplus ?? []) await deps.provider.deletePayment(id);
  await deps.provider.updateSubscription(provider_id, {
    valueCents,
    cycle,
    description: planName,
    nextDueDate: due?.nextDueDate ?? null,
  });
  await loadCharges(deps, task, cycle);
}

/**
 * The provider has set the days of its charges by the cycle of the plan before, keeps them when the cycle changes, and makes
 * charges 40 days ahead. The first pending one will pay for a cycle of the scheduled plan: those within that are surplus, and
 * the next to be made comes after the last of the others. Null when the last charge is not pending: its price stays, and so
 * does the day after it.
 */
async function dueAfterChange(
  deps: TaskDeps,
  providerId: string,
  cycle: BillingCycle,
): Promise<{ nextDueDate: string; surplus: ListedPayment[] } | null> {
  const listed = await deps.provider.listPayments(providerId);
  const payments = listed.toSorted((a, b) => a.dueDate.localeCompare(b.dueDate));
  if (!payments.at(-1)?.isPending) return null;
  let nextDueDate = '';
  const surplus: ListedPayment[] = [];
  for (const payment of payments.filter(({ isPending }) => isPending)) {
    if (payment.dueDate < nextDueDate) surplus.push(payment);
    else nextDueDate = addCycle(payment.dueDate, cycle);
  }
  return { nextDueDate, surplus };
}

/**
 * An expired subscription is closed first: from then on no payment revives it. A cancelled one ends whatever its state is by
 * now: a chargeback suspends it.
 */
async function endSubscription(deps: TaskDeps, task: Task): Promise<void> {
  const providerId = await deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, task.company_id, deps.clock);
    const { rows } = await sql.query<{ over: boolean; provider_id: string }>(
      `UPDATE billing.subscriptions
       SET closed_at = CASE WHEN status = 'expired' THEN coalesce(closed_at, $2) ELSE closed_at END,
           ended_by_clock_at = CASE WHEN status = 'expired' THEN coalesce(closed_at, $2) ELSE ended_by_clock_at END
       WHERE id = $1
       RETURNING ${IS_OVER_THERE} AS over, asaas_subscription_id AS provider_id`,
      [task.subject_id, time.now],
    );
    const row = rows[0];
    return row?.over ? row.provider_id : null;
  });
  if (providerId !== null) await deps.provider.deleteSubscription(providerId);
}

/** After a deletion whose answer was lost: missing there means cancelled here. */
async function checkSubscription(deps: TaskDeps, task: Task): Promise<void> {
  const { rows } = await deps.db.query<{ provider_id: string; ended: boolean }>(
    `SELECT asaas_subscription_id AS provider_id, cancelled_at IS NOT NULL OR closed_at IS NOT NULL AS ended
     FROM billing.subscriptions WHERE id = $1`,
    [task.subject_id],
  );
  if (!rows[0] || rows[0].ended || (await deps.provider.readSubscription(rows[0].provider_id))) return;
  await deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, task.company_id, deps.clock);
    const seq = await sql.query<{ seq: number }>(`SELECT nextval('billing.fact_seq') AS seq`);
    await endByProvider(sql, {
      subscriptionId: task.subject_id,
      fact: { at: time.now, seq: oneRow(seq.rows).seq },
      time,
    });
  });
}

/** With `cycle`, the one whose price the provider has just given to the charges that are pending. */
async function loadCharges(deps: TaskDeps, task: Task, cycle?: BillingCycle): Promise<void> {
  const { rows } = await deps.db.query<{ provider_id: string }>(
    'SELECT asaas_subscription_id AS provider_id FROM billing.subscriptions WHERE id = $1',
    [task.subject_id],
  );
  if (!rows[0]) return;
  const payments = await deps.provider.listPayments(rows[0].provider_id);
  await deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, task.company_id, deps.clock);
    for (const payment of payments) {
      const id = await writeCharge(sql, {
        companyId: task.company_id,
        subscriptionId: task.subject_id,
        payment,
        at: time.now,
        now: time.now,
        realNow: deps.clock.now(),
      });
      if (cycle !== undefined && payment.isPending)
        await sql.query(
          'UPDATE billing.charges SET paid_cycle = $2 WHERE id = $1 AND paid_plan_code IS NULL',
          [id, cycle],
        );
    }
    await settleSubscription(sql, { subscriptionId: task.subject_id, time });
  });
}

/** Only a charge that can still be paid needs a code. */
async function loadPix(deps: TaskDeps, task: Task): Promise<void> {
  const { rows } = await deps.db.query<{ payment_id: string; amount_cents: number }>(
    `SELECT asaas_payment_id AS payment_id, amount_cents FROM billing.charges
     WHERE id = $1 AND status = 'pending' AND pix_copy_paste IS NULL`,
    [task.subject_id],
  );
  if (!rows[0]) return;
  const code = await deps.provider.readPix(rows[0].payment_id);
  // Its amount has changed meanwhile: then the task was queued again.
  await deps.db.query(
    'UPDATE billing.charges SET pix_copy_paste = $2, pix_qr_code = $3 WHERE id = $1 AND amount_cents = $4',
    [task.subject_id, code.copyPaste, code.qrCode, rows[0].amount_cents],
  );
}

async function syncCustomer(deps: TaskDeps, task: Task): Promise<void> {
  const profile = await deps.orm.forCompany(task.company_id).findOne(ProfileSchema, {});
  if (profile) await deps.provider.updateCustomer(profile.asaasCustomerId, customerFields(profile));
}
