import type { ProviderEventBody } from '@posthorn/contract/billing/provider-webhook.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { isUuid } from '../../platform/ids.ts';
import { CHARGE_STATUS_OF, isChargeEvent, isPayment } from '../charges/charge-status.ts';
import { parseProviderTime } from '../dates.ts';
import type { BillingDeps } from '../deps.ts';
import { type CompanyTime, lockCompany } from '../lock-company.ts';
import { type Fact, isLater } from '../subscriptions/derive-state.ts';
import { settleSubscription } from '../subscriptions/settle-subscription.ts';
import { applyChargeEvent, type EventSubscription } from './apply-charge-event.ts';
import { readEventPayment } from './provider-event.ts';

/** Waits between the attempts (BIL-16); after the last one the event is marked failed. */
const BACKOFF_MS = [1, 5, 15, 60, 360].map((minutes) => minutes * MINUTE_MS);

/**
 * The event refers to something that is not here (yet): it is retried, since our own rows may not be committed.
 */
class UnknownSubjectError extends Error {
  override name = 'UnknownSubjectError';
}

interface EventRow {
  id: number;
  event: string;
  payload: ProviderEventBody;
  received_at: Date;
  attempts: number;
}

interface ProcessDeps extends Pick<BillingDeps, 'db' | 'clock' | 'log'> {
  /** Counts payments that bring nothing back, for operators to refund. */
  countPaymentAfterEnd?: (() => void) | undefined;
}

/** An event that had an effect here. */
interface Applied {
  /** It was a payment for this subscription, which is over all the same, or was undone and has no id here. */
  paidAfterEnd?: { id: number | null; company_id: number };
}

/** The ids of the events that are due, oldest first. */
export async function listDueEvents(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  limit: number,
): Promise<number[]> {
  const { rows } = await deps.db.query<{ id: number }>(
    `SELECT id FROM billing.provider_events
     WHERE status = 'pending' AND next_attempt_at <= $1 ORDER BY next_attempt_at, id LIMIT $2`,
    [deps.clock.now(), limit],
  );
  return rows.map((row) => row.id);
}

/**
 * Processes one event. Its effects and the mark that it was processed are one transaction: whatever kills the
 * process in between, the event is applied once. False when another worker has it or it is done.
 */
export async function processEvent(deps: ProcessDeps, eventId: number): Promise<boolean> {
  try {
    const done = await deps.db.transaction(async (sql) => {
      const event = await takeEvent(deps, sql, eventId);
      if (!event) return null;
      const applied = await apply(deps, sql, event);
      await sql.query(
        `UPDATE billing.provider_events
         SET status = $2, attempts = attempts + 1, processed_at = $3, next_attempt_at = NULL, last_error = NULL
         WHERE id = $1`,
        [eventId, applied ? 'processed' : 'ignored', deps.clock.now()],
      );
      return { paidAfterEnd: applied?.paidAfterEnd };
    });
    if (done?.paidAfterEnd) tellPaidAfterEnd(deps, eventId, done.paidAfterEnd);
    return done !== null;
  } catch (err) {
    await recordFailure(deps, eventId, err);
    return true;
  }
}

function tellPaidAfterEnd(
  deps: ProcessDeps,
  eventId: number,
  over: NonNullable<Applied['paidAfterEnd']>,
): void {
  deps.log.error(
    { event_id: eventId, company_id: over.company_id, subscription_id: over.id },
    'a payment came for a subscription that is over: look whether the provider has to refund it',
  );
  deps.countPaymentAfterEnd?.();
}

async function takeEvent(deps: ProcessDeps, sql: Sql, eventId: number): Promise<EventRow | null> {
  const { rows } = await sql.query<EventRow>(
    `SELECT id, event, payload, received_at, attempts FROM billing.provider_events
     WHERE id = $1 AND status = 'pending' AND next_attempt_at <= $2
     FOR UPDATE SKIP LOCKED`,
    [eventId, deps.clock.now()],
  );
  return rows[0] ?? null;
}

/** Null: the event is none of those that have an effect here (BIL-16). */
async function apply(deps: ProcessDeps, sql: Sql, row: EventRow): Promise<Applied | null> {
  const { payload } = row;
  if (isChargeEvent(row.event) && payload.payment) {
    const payment = readEventPayment(payload.payment);
    const subscription = await findSubscription(sql, {
      providerId: payment.subscriptionId,
      paymentId: payment.id,
    });
    // A payment without a subscription is some other business of the same account at the provider.
    if (!subscription && payment.subscriptionId === null) return null;
    if (!subscription) {
      const missing = await whyMissing(sql, payload.payment.externalReference);
      if (missing.why === 'foreign') return null;
      // A card is charged at once: its money is not back by removing what charged it.
      if (missing.why === 'undone')
        return isPayment(CHARGE_STATUS_OF[row.event])
          ? { paidAfterEnd: { id: null, company_id: missing.companyId } }
          : null;
      if (missing.why === 'forgotten' && row.event === 'PAYMENT_DELETED') return null;
      throw new UnknownSubjectError('the subscription of the payment is not known');
    }
    const time = await lockCompany(sql, subscription.company_id, deps.clock);
    const fact = factOf(row, subscription, time);
    const isFirstPayment = await applyChargeEvent(sql, {
      subscription,
      event: row.event,
      payment,
      fact,
      time,
    });
    const status = await settleSubscription(sql, { subscriptionId: subscription.id, time });
    const isOver = status === 'cancelled' || status === 'expired';
    return isFirstPayment && isOver ? { paidAfterEnd: subscription } : {};
  }
  if (row.event === 'SUBSCRIPTION_DELETED' && payload.subscription) {
    const subscription = await findSubscription(sql, {
      providerId: payload.subscription.id,
      paymentId: null,
    });
    if (!subscription) {
      const { why } = await whyMissing(sql, payload.subscription.externalReference);
      if (why !== 'unknown') return null;
      throw new UnknownSubjectError('the subscription is not known');
    }
    const time = await lockCompany(sql, subscription.company_id, deps.clock);
    await endByProvider(sql, {
      subscriptionId: subscription.id,
      fact: factOf(row, subscription, time),
      time,
    });
    return {};
  }
  return null;
}

/** The provider's subscription is gone: cancelled (BIL-8), unless we had it ended there because the clock ended ours. */
export async function endByProvider(
  sql: Sql,
  input: { subscriptionId: number; fact: Fact; time: CompanyTime },
): Promise<void> {
  const { fact } = input;
  const { rows } = await sql.query<{ at: Date | null; seq: number | null; ours: boolean }>(
    `SELECT cancelled_at AS at, cancelled_seq AS seq,
            closed_at IS NOT NULL OR (cancelled_at IS NULL AND ended_by_clock_at IS NOT NULL) AS ours
     FROM billing.subscriptions WHERE id = $1`,
    [input.subscriptionId],
  );
  const { at, seq, ours } = oneRow(rows);
  if (ours || (at !== null && seq !== null && !isLater(fact, { at, seq }))) return;
  await sql.query(
    `UPDATE billing.subscriptions
     SET cancelled_at = $2, cancelled_seq = $3, cancel_reason = coalesce(cancel_reason, 'provider') WHERE id = $1`,
    [input.subscriptionId, fact.at, fact.seq],
  );
  await settleSubscription(sql, { subscriptionId: input.subscriptionId, time: input.time });
}

/**
 * When it happened, according to the provider, else when it arrived. Kept within the life of the subscription: a
 * wrong clock at the provider must not put an event before its beginning or out of reach.
 */
function factOf(row: EventRow, subscription: EventSubscription, time: CompanyTime): Fact {
  const said =
    parseProviderTime(row.payload.dateCreated)?.getTime() ?? row.received_at.getTime() + time.offsetMs;
  const at = Math.min(Math.max(said, subscription.created_at.getTime()), time.now.getTime());
  return { at: new Date(at), seq: row.id };
}

async function findSubscription(
  sql: Sql,
  by: { providerId: string | null; paymentId: string | null },
): Promise<EventSubscription | null> {
  const { rows } = await sql.query<EventSubscription>(
    `SELECT id, company_id, billing_type, created_at FROM billing.subscriptions
     WHERE asaas_subscription_id = $1
        OR id = (SELECT subscription_id FROM billing.charges WHERE asaas_payment_id = $2)
     LIMIT 1`,
    [by.providerId, by.paymentId],
  );
  return rows[0] ?? null;
}

/** Why an event names a subscription that is not here. */
type Missing =
  /** It was created for a request that failed, and is being removed: its events are ignored, payments aside. */
  | { why: 'undone'; companyId: number }
  /**
   * Nobody here is creating it or has created it: its company was erased, and the provider tells of the end that the
   * erasure asked for. It changes nothing, whereas a payment of such a subscription needs somebody to look at it.
   */
  | { why: 'forgotten' }
  /** Some other business of the same account at the provider made it: ours have a UUID for their reference. */
  | { why: 'foreign' }
  /** It names no request of ours, or one whose subscription is not committed yet. */
  | { why: 'unknown' };

async function whyMissing(sql: Sql, reference: unknown): Promise<Missing> {
  if (typeof reference !== 'string') return { why: 'unknown' };
  if (!isUuid(reference)) return { why: 'foreign' };
  const { rows } = await sql.query<{ company_id: number; is_undone: boolean }>(
    `SELECT company_id, state IN ('undo', 'undone') AS is_undone
     FROM billing.provider_intents WHERE reference = $1`,
    [reference],
  );
  const intent = rows[0];
  if (!intent) return { why: 'forgotten' };
  return intent.is_undone ? { why: 'undone', companyId: intent.company_id } : { why: 'unknown' };
}

async function recordFailure(deps: ProcessDeps, eventId: number, err: unknown): Promise<void> {
  const { rows } = await deps.db.query<{ attempts: number; event: string; trace_id: string | null }>(
    `UPDATE billing.provider_events
     SET attempts = attempts + 1, last_error = $2,
         next_attempt_at = $3::timestamptz + ($4::bigint[])[attempts + 1] * interval '1 millisecond',
         status = CASE WHEN attempts < $5 THEN 'pending' ELSE 'failed' END
     WHERE id = $1 AND status = 'pending'
     RETURNING attempts, event, trace_id`,
    [eventId, describe(err), deps.clock.now(), BACKOFF_MS, BACKOFF_MS.length],
  );
  const row = rows[0];
  if (!row) return;
  const entry = { err, event_id: eventId, event: row.event, attempts: row.attempts, trace_id: row.trace_id };
  if (row.attempts > BACKOFF_MS.length) deps.log.error(entry, 'processing a provider event failed for good');
  else deps.log.warn(entry, 'processing a provider event failed, trying again later');
}

/** For operators. A database's detail may quote values, so only our own words and codes are kept. */
function describe(err: unknown): string {
  if (err instanceof UnknownSubjectError) return err.message;
  const code = (err as { code?: unknown }).code;
  return typeof code === 'string' ? `error ${code}` : err instanceof Error ? err.name : 'error';
}
