import { addCycle, localDate, startOfLocalDay } from '@posthorn/core/billing/dates.ts';

/**
 * The behaviour that billing should have by BIL-8, BIL-13 and docs/billing.md, without a database and concurrency:
 * events move the state one by one, in the order in which they happened.
 */

const DAY_MS = 86_400_000;

export const PLANS: Record<string, { cycle: 'monthly' | 'yearly'; priceCents: number }> = {
  starter_monthly: { cycle: 'monthly', priceCents: 4990 },
  pro_monthly: { cycle: 'monthly', priceCents: 14_990 },
  starter_yearly: { cycle: 'yearly', priceCents: 49_900 },
};
export const ADDONS: Record<string, { priceCents: number; max: number }> = {
  extra_instance: { priceCents: 1990, max: 50 },
  extra_user: { priceCents: 990, max: 50 },
};

export interface ModelCharge {
  status: string;
  dueDate: string;
  amountCents: number;
  /** When it was confirmed, or received without a confirmation. */
  paidAt: number | null;
  /** The plan that it paid for. */
  paidPlan: string | null;
  /** That of the plan before, when it was there as the plan changed. */
  cycle: 'monthly' | 'yearly' | null;
  paidUntil: number | null;
  received: boolean;
}

interface ModelItem {
  quantity: number;
  priceCents: number;
  scheduled: boolean;
}

export interface ModelSubscription {
  plan: string;
  nextPlan: string | null;
  planPriceCents: number;
  addons: Map<string, ModelItem>;
  trialEndsAt: number;
  cancelAtPeriodEnd: boolean;
  charges: Map<string, ModelCharge>;
  converted: boolean;
  /** Overdue and unsettled charges: when each became overdue, and when we learned of it. */
  owed: Map<string, { at: number; knownAt: number }>;
  /** When each charge was charged back, unless that was healed since. */
  chargedBack: Map<string, number>;
  cancelled: boolean;
  expiredAt: number | null;
  closed: boolean;
  superseded: boolean;
}

export interface ModelEvent {
  event: string;
  charge: string;
  at: number;
  dueDate: string;
  amountCents: number;
}

const addonPrice = (code: string, plan: string) =>
  ADDONS[code]!.priceCents * (PLANS[plan]!.cycle === 'yearly' ? 12 : 1);

export function subscribe(input: {
  plan: string;
  addons: Record<string, number>;
  now: number;
  firstCharge: string;
  /**
   * The end of the trial of the company's first subscription, null for that one itself; once it is past, the first
   * charge is due at once.
   */
  firstTrialEndsAt: number | null;
}): ModelSubscription {
  const trialEndsAt =
    input.firstTrialEndsAt === null ? input.now + 30 * DAY_MS : Math.max(input.now, input.firstTrialEndsAt);
  const addons = new Map(
    Object.entries(input.addons).map(([code, quantity]) => [
      code,
      { quantity, priceCents: addonPrice(code, input.plan), scheduled: false },
    ]),
  );
  const planPriceCents = PLANS[input.plan]!.priceCents;
  const amountCents = [...addons.values()].reduce(
    (sum, item) => sum + item.quantity * item.priceCents,
    planPriceCents,
  );
  const dueDate = localDate(new Date(trialEndsAt));
  return {
    plan: input.plan,
    nextPlan: null,
    planPriceCents,
    addons,
    trialEndsAt,
    cancelAtPeriodEnd: false,
    charges: new Map([
      [
        input.firstCharge,
        {
          status: 'pending',
          dueDate,
          amountCents,
          paidAt: null,
          paidPlan: null,
          cycle: null,
          paidUntil: null,
          received: false,
        },
      ],
    ]),
    converted: false,
    owed: new Map(),
    chargedBack: new Map(),
    cancelled: false,
    expiredAt: null,
    closed: false,
    superseded: false,
  };
}

export function periodEnd(subscription: ModelSubscription): number {
  const paid = [...subscription.charges.values()].flatMap((charge) => charge.paidUntil ?? []);
  return paid.length > 0 ? Math.max(...paid) : subscription.trialEndsAt;
}

export function statusOf(subscription: ModelSubscription, now: number): string {
  if (subscription.chargedBack.size > 0 && !subscription.superseded) return 'suspended';
  if (subscription.cancelled) return 'cancelled';
  if (subscription.closed || subscription.superseded) return 'expired';
  if (!subscription.converted) {
    if ([...subscription.charges.values()].some((charge) => charge.status === 'confirmed')) return 'trialing';
    return now >= subscription.trialEndsAt ? 'expired' : 'trialing';
  }
  if (subscription.owed.size === 0) return 'active';
  const running = [...subscription.owed].filter(([charge]) =>
    ['overdue', 'failed'].includes(subscription.charges.get(charge)!.status),
  );
  return running.some(([, { knownAt }]) => now >= knownAt + 3 * DAY_MS) ? 'suspended' : 'past_due';
}

/** Applies the effects of time. To be called whenever the clock was moved or an event happened. */
export function passTime(subscription: ModelSubscription, now: number): void {
  const over = subscription.cancelled || subscription.closed || subscription.superseded;
  if (!over && subscription.cancelAtPeriodEnd && now >= periodEnd(subscription)) cancel(subscription);
  if (statusOf(subscription, now) !== 'expired') subscription.expiredAt = null;
  else subscription.expiredAt ??= now;
}

/** The provider's subscription of an expired trial is ended three days later. */
export function closeExpired(subscription: ModelSubscription, now: number): void {
  if (subscription.expiredAt !== null && now >= subscription.expiredAt + 3 * DAY_MS)
    subscription.closed = true;
}

/** An expired trial with a newer subscription no longer waits for a payment: it is ended at once. */
export function supersede(subscription: ModelSubscription, now: number): void {
  if (statusOf(subscription, now) === 'expired') subscription.closed = true;
  subscription.superseded = true;
}

export function cancel(subscription: ModelSubscription): void {
  subscription.cancelled = true;
  subscription.chargedBack.clear();
}

/** Schedules a plan. All charges but `pending`, at the provider, keep their price, and so the cycle that they pay for. */
export function schedulePlan(subscription: ModelSubscription, plan: string, pending: string): void {
  for (const [id, charge] of subscription.charges)
    if (id !== pending && charge.paidAt === null)
      charge.cycle ??= PLANS[subscription.nextPlan ?? subscription.plan]!.cycle;
  subscription.nextPlan = plan;
}

const EARLY = ['pending', 'overdue', 'failed'];

/** Applies one event. `now` is when we learn of it. */
export function happen(subscription: ModelSubscription, event: ModelEvent, now: number): void {
  if (event.event === 'SUBSCRIPTION_DELETED') {
    if (!subscription.closed) cancel(subscription);
    return;
  }
  let charge = subscription.charges.get(event.charge);
  if (!charge) {
    charge = {
      status: 'pending',
      dueDate: event.dueDate,
      amountCents: 0,
      paidAt: null,
      paidPlan: null,
      cycle: null,
      paidUntil: null,
      received: false,
    };
    subscription.charges.set(event.charge, charge);
  }
  charge.amountCents = event.amountCents;
  const early = EARLY.includes(charge.status);
  switch (event.event) {
    case 'PAYMENT_OVERDUE':
      if (!early) return;
      charge.status = 'overdue';
      subscription.owed.set(event.charge, { at: event.at, knownAt: now });
      return;
    case 'PAYMENT_REPROVED_BY_RISK_ANALYSIS':
      if (early) charge.status = 'failed';
      return;
    case 'PAYMENT_CONFIRMED':
      if (early) charge.status = 'confirmed';
      pay(subscription, charge, event);
      return;
    case 'PAYMENT_REFUNDED':
      charge.status = 'refunded';
      return;
    case 'PAYMENT_DELETED':
      charge.status = 'deleted';
      return;
    case 'PAYMENT_CHARGEBACK_REQUESTED':
      charge.status = 'chargeback';
      subscription.chargedBack.set(event.charge, event.at);
      return;
    case 'PAYMENT_RECEIVED':
      charge.status = 'received';
      subscription.converted = true;
      pay(subscription, charge, event);
      settle(subscription, charge, event.charge);
      if (!charge.received) swapPlan(subscription, charge);
      charge.received = true;
  }
}

/** A receipt settles the debts that were open when its charge was paid. */
function settle(subscription: ModelSubscription, charge: ModelCharge, id: string): void {
  for (const [owed, { at }] of subscription.owed)
    if (owed === id || at < charge.paidAt!) subscription.owed.delete(owed);
  for (const [chargedBack, at] of subscription.chargedBack)
    if (chargedBack === id || at < charge.paidAt!) subscription.chargedBack.delete(chargedBack);
}

function swapPlan(subscription: ModelSubscription, charge: ModelCharge): void {
  if (subscription.cancelled || subscription.closed) return;
  const { plan: present, nextPlan } = subscription;
  const isPast = [...subscription.charges.values()].some(
    ({ received, paidAt }) => received && paidAt! > charge.paidAt!,
  );
  const stays = nextPlan === null || (nextPlan !== charge.paidPlan && isPast);
  const plan = stays ? present : charge.paidPlan!;
  if (plan !== subscription.plan) subscription.planPriceCents = PLANS[plan]!.priceCents;
  subscription.plan = plan;
  if (subscription.nextPlan === plan) subscription.nextPlan = null;
  for (const [code, item] of subscription.addons) {
    item.priceCents = addonPrice(code, plan);
    item.scheduled = false;
  }
}

function pay(subscription: ModelSubscription, charge: ModelCharge, event: ModelEvent): void {
  if (charge.paidAt !== null) return;
  charge.paidAt = event.at;
  const plan = subscription.nextPlan ?? subscription.plan;
  charge.paidPlan = plan;
  const paidOn = localDate(new Date(event.at));
  const from = paidOn > charge.dueDate ? paidOn : charge.dueDate;
  charge.paidUntil = startOfLocalDay(addCycle(from, charge.cycle ?? PLANS[plan]!.cycle)).getTime();
}
