import { apiError } from '@posthorn/contract/api-error.ts';
import {
  type BillingType,
  billingType,
  type CreateSubscriptionBody,
  type SubscriptionDto,
} from '@posthorn/contract/billing/subscriptions.ts';
import { BILLING_TRIAL_DAYS } from '@posthorn/contract/limits.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { addonPriceCents } from '../catalog/prices.ts';
import { writeCharge } from '../charges/write-charge.ts';
import { localDate } from '../dates.ts';
import type { BillingDeps } from '../deps.ts';
import { type Addon, AddonSchema, type Plan, PlanSchema, ProfileSchema } from '../entities.ts';
import { lockCompany } from '../lock-company.ts';
import { openCardToken } from '../payers/open-card-token.ts';
import {
  type PixCode,
  ProviderError,
  type ProviderPayment,
  type SubscriptionToCreate,
} from '../provider/port.ts';
import {
  commitIntent,
  completeIntent,
  createAtProvider,
  openIntents,
  recordIntent,
  undoIntent,
} from '../provider/provider-intents.ts';
import { queueTask } from '../provider/provider-tasks.ts';
import { claimTrial, useTrial } from './claim-trial.ts';
import { loadSubscription } from './read-subscription.ts';
import { settleSubscription } from './settle-subscription.ts';

type CreateDeps = Pick<BillingDeps, 'db' | 'orm' | 'clock' | 'cipher' | 'provider' | 'log'>;

interface Order {
  companyId: number;
  plan: Plan;
  billingType: BillingType;
  cardId: number | null;
  addons: { addon: Addon; quantity: number; unitPriceCents: number }[];
  valueCents: number;
}

/**
 * Starts the trial of 30 days, or goes on with what is left of it when the company subscribes again; the provider makes
 * the first charge, due when the trial ends. When the trial is over already that is at once, and until the charge is
 * paid the subscription is expired like a trial without a payment. On both sides or on none: what the provider made for a request that failed is undone (provider-intents.ts).
 *
 * Throws the codes of BIL-7; 403 COMPANY_SUSPENDED; 422 CARD_REJECTED, 503 SERVICE_UNAVAILABLE for the provider's part.
 */
export async function createSubscription(
  deps: CreateDeps,
  input: { companyId: number; body: CreateSubscriptionBody; remoteIp: string },
): Promise<SubscriptionDto> {
  const order = await readOrder(deps, input.companyId, input.body);
  await clearIntents(deps, input.companyId);
  const begun = await deps.db.transaction((sql) => begin(deps, sql, order, input.remoteIp));
  const made = await createAtProvider(deps, {
    kind: 'subscription',
    reference: begun.request.reference,
    create: () => deps.provider.createSubscription(begun.request),
  }).catch((cause) => {
    throw refusalOf(cause, order.billingType);
  });
  const first = await readFirstCharges(deps, made.id);
  return commitIntent(deps, begun.request.reference, (sql) =>
    commit(deps, sql, { order, begun, providerId: made.id, first }),
  );
}

/**
 * Checks first what needs no state of the company, so that an invalid request always gets the same
 * answer.
 */
async function readOrder(deps: CreateDeps, companyId: number, body: CreateSubscriptionBody): Promise<Order> {
  const type = billingType.safeParse(body.billing_type);
  if (!type.success) throw apiError('INVALID_BILLING_TYPE');
  const em = deps.orm.fork();
  const plan = await em.findOne(PlanSchema, { code: body.plan_code, offered: true });
  if (!plan) throw apiError('PLAN_NOT_FOUND', { status: 400 });
  if (type.data === 'credit_card' && !body.card_id) throw apiError('CARD_REQUIRED');
  const quantities = new Map<string, number>();
  for (const { code, quantity } of body.addons ?? []) {
    if (!Number.isSafeInteger(quantity) || quantity < 1) throw apiError('INVALID_QUANTITY');
    quantities.set(code, (quantities.get(code) ?? 0) + quantity);
  }
  const known = await em.find(AddonSchema, { code: { $in: [...quantities.keys()] }, offered: true });
  const addons = [...quantities].map(([code, quantity]) => {
    const addon = known.find((candidate) => candidate.code === code);
    if (!addon) throw apiError('ADDON_NOT_FOUND', { status: 400 });
    if (quantity > addon.maxQuantity) throw apiError('INVALID_QUANTITY');
    return { addon, quantity, unitPriceCents: addonPriceCents(addon, plan.cycle) };
  });
  const valueCents = addons.reduce((sum, line) => sum + line.quantity * line.unitPriceCents, plan.priceCents);
  const cardId = type.data === 'credit_card' ? body.card_id! : null;
  return { companyId, plan, billingType: type.data, cardId, addons, valueCents };
}

/** Undoes what earlier requests left unfinished, as the worker would; 503 while that is impossible. */
async function clearIntents(deps: CreateDeps, companyId: number): Promise<void> {
  const open = await openIntents(deps.db, { companyId, kind: 'subscription', now: deps.clock.now() });
  for (const { reference, underWay } of open) if (!underWay) await undoIntent(deps, reference);
}

interface Begun {
  request: SubscriptionToCreate;
  /** The present time when there is no trial, or it is over. */
  trialEndsAt: Date;
  beginsTrial: boolean;
}

async function begin(deps: CreateDeps, sql: Sql, order: Order, remoteIp: string): Promise<Begun> {
  const { companyId } = order;
  const { now } = await lockCompany(sql, companyId, deps.clock);
  await requireActive(sql, companyId);
  const profile = await deps.orm.forCompany(companyId).findOne(ProfileSchema, {});
  if (!profile) throw apiError('PROFILE_REQUIRED');
  const live = await hasLive(sql, companyId, now);
  const open = await openIntents(sql, { companyId, kind: 'subscription', now: deps.clock.now() });
  if (live || open.some(({ underWay }) => underWay)) throw apiError('SUBSCRIPTION_EXISTS');
  const cardToken =
    order.cardId === null ? null : await openCardToken(deps, sql, { companyId, cardId: order.cardId });
  const reference = await recordIntent(sql, { companyId, kind: 'subscription', now: deps.clock.now() });
  const beginsTrial = await claimTrial(deps, sql, { documentNumber: profile.documentNumber, reference });
  const trialEndsAt = beginsTrial
    ? new Date(now.getTime() + BILLING_TRIAL_DAYS * DAY_MS)
    : await restOfTrial(sql, companyId, now);
  return {
    trialEndsAt,
    beginsTrial,
    request: {
      reference,
      customerId: profile.asaasCustomerId,
      billingType: order.billingType,
      cardToken,
      valueCents: order.valueCents,
      cycle: order.plan.cycle,
      firstDueDate: localDate(trialEndsAt),
      description: order.plan.displayName,
      remoteIp,
    },
  };
}

/**
 * Also while a card is being charged for one that is expired until that is told: the charge cannot be stopped any more, and
 * another subscription would charge the card again.
 */
async function hasLive(sql: Sql, companyId: number, now: Date): Promise<boolean> {
  const { rowCount } = await sql.query(
    `SELECT FROM billing.subscriptions subscription
     WHERE company_id = $1 AND (status IN ('trialing', 'active', 'past_due', 'suspended')
       OR (status = 'expired' AND closed_at IS NULL AND billing_type = 'credit_card'
           AND EXISTS (SELECT FROM billing.charges charge
                       WHERE charge.subscription_id = subscription.id AND charge.status = 'pending' AND due_date <= $2)))`,
    [companyId, localDate(now)],
  );
  return rowCount !== 0;
}

/** When the trial of the company's first subscription ends; now, when that is past or another company had the trial. */
async function restOfTrial(sql: Sql, companyId: number, now: Date): Promise<Date> {
  const { rows } = await sql.query<{ trial_ends_at: Date }>(
    'SELECT trial_ends_at FROM billing.subscriptions WHERE company_id = $1 AND trial_ends_at > $2 ORDER BY id LIMIT 1',
    [companyId, now],
  );
  return rows[0]?.trial_ends_at ?? now;
}

/** Refuses a company that was suspended or deleted after the request was let in. */
async function requireActive(sql: Sql, companyId: number): Promise<void> {
  const { rowCount } = await sql.query(`SELECT FROM public.companies WHERE id = $1 AND status = 'active'`, [
    companyId,
  ]);
  if (rowCount === 0) throw apiError('COMPANY_SUSPENDED');
}

function refusalOf(cause: unknown, type: BillingType): Error {
  if (!(cause instanceof ProviderError)) return cause as Error;
  if (cause.fault !== 'refused')
    return apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '5' } });
  return apiError(type === 'credit_card' ? 'CARD_REJECTED' : 'INTERNAL', { cause });
}

interface FirstCharges {
  payments: ProviderPayment[];
  pix: Map<string, PixCode>;
}

/** Best effort: what is missing is loaded by a task, and announced by PAYMENT_CREATED. */
async function readFirstCharges(deps: CreateDeps, providerId: string): Promise<FirstCharges> {
  const pix = new Map<string, PixCode>();
  try {
    const payments = await deps.provider.listPayments(providerId);
    for (const payment of payments) {
      if (payment.billingType !== 'pix') continue;
      const code = await deps.provider.readPix(payment.id).catch(() => null);
      if (code) pix.set(payment.id, code);
    }
    return { payments, pix };
  } catch (err) {
    if (!(err instanceof ProviderError)) throw err;
    return { payments: [], pix };
  }
}

async function commit(
  deps: CreateDeps,
  sql: Sql,
  input: { order: Order; begun: Begun; providerId: string; first: FirstCharges },
): Promise<SubscriptionDto> {
  const { order, begun, first } = input;
  const { companyId } = order;
  const realNow = deps.clock.now();
  const time = await lockCompany(sql, companyId, deps.clock);
  await requireActive(sql, companyId);
  // A late payment has converted the expired one meanwhile: it is the company's, and the new one is undone.
  if (await hasLive(sql, companyId, time.now)) throw apiError('SUBSCRIPTION_EXISTS');
  if (!(await completeIntent(sql, begun.request.reference)))
    throw apiError('SERVICE_UNAVAILABLE', { cause: new Error('the request took too long and was undone') });
  if (begun.beginsTrial && !(await useTrial(sql, begun.request.reference, realNow)))
    throw apiError('SERVICE_UNAVAILABLE', { cause: new Error('the trial was given to another meanwhile') });
  await endEarlier(sql, companyId, realNow);
  const { rows } = await sql.query<{ id: number }>(
    `INSERT INTO billing.subscriptions (company_id, plan_code, status, billing_type, card_id, trial_ends_at,
       current_period_end, asaas_subscription_id, external_reference, created_at, updated_at)
     VALUES ($1, $2, 'trialing', $3, $4, $5, $5, $6, $7, $8, $8) RETURNING id`,
    [
      companyId,
      order.plan.code,
      order.billingType,
      order.cardId,
      begun.trialEndsAt,
      input.providerId,
      begun.request.reference,
      time.now,
    ],
  );
  const subscriptionId = oneRow(rows).id;
  await insertItems(sql, order, subscriptionId, time.now);
  for (const payment of first.payments) {
    const id = await writeCharge(sql, {
      companyId,
      subscriptionId,
      payment,
      at: time.now,
      now: time.now,
      realNow,
    });
    const code = first.pix.get(payment.id);
    if (code)
      await sql.query('UPDATE billing.charges SET pix_copy_paste = $2, pix_qr_code = $3 WHERE id = $1', [
        id,
        code.copyPaste,
        code.qrCode,
      ]);
  }
  if (first.payments.length === 0)
    await queueTask(sql, { kind: 'load_charges', companyId, subjectId: subscriptionId, at: realNow });
  await settleSubscription(sql, { subscriptionId, time });
  return (await loadSubscription(sql, companyId))!;
}

/**
 * An expired trial still waits for a late payment; with a new subscription it waits no more. One whose end the provider
 * could not be told, and would be told in hours, is not to be charged beside the new one.
 */
async function endEarlier(sql: Sql, companyId: number, realNow: Date): Promise<void> {
  const { rows } = await sql.query<{ id: number }>(
    `SELECT id FROM billing.subscriptions WHERE company_id = $1 AND status = 'expired' AND closed_at IS NULL
     UNION SELECT subject_id FROM billing.provider_tasks WHERE company_id = $1 AND kind = 'end_subscription'`,
    [companyId],
  );
  for (const { id } of rows)
    await queueTask(sql, { kind: 'end_subscription', companyId, subjectId: id, at: realNow });
}

async function insertItems(sql: Sql, order: Order, subscriptionId: number, now: Date): Promise<void> {
  const lines = [
    { type: 'plan', code: order.plan.code, quantity: 1, unitPriceCents: order.plan.priceCents },
    ...order.addons.map((line) => ({ type: 'addon', code: line.addon.code, ...line })),
  ];
  for (const line of lines)
    await sql.query(
      `INSERT INTO billing.subscription_items (company_id, subscription_id, type, code, quantity, unit_price_cents,
         scheduled_for_next_cycle, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, false, $7)`,
      [order.companyId, subscriptionId, line.type, line.code, line.quantity, line.unitPriceCents, now],
    );
}
