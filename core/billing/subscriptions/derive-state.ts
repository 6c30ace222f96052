import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';
import type { BillingType, SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import { BILLING_GRACE_DAYS } from '@posthorn/contract/limits.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { isPayment, isStronger, type StatusFact } from '../charges/charge-status.ts';
import { addCycle, localDate, startOfLocalDay } from '../dates.ts';

/** Something that happened: when, and as the how-manieth thing we learned of. */
export interface Fact {
  at: Date;
  seq: number;
}

export interface ChargeFact extends Fact {
  chargeId: number;
  status: ChargeStatus;
  /** When we learned of it: a grace period runs from there. */
  knownAt: Date;
}

export interface ChargeTerms {
  id: number;
  dueDate: string;
  /** The day on which the customer paid a boleto, which the provider tells days later; null before. */
  paidOn: string | null;
  /** The cycle that it pays for; null while that is open. */
  paidCycle: BillingCycle | null;
}

export interface SubscriptionFacts {
  billingType: BillingType;
  trialEndsAt: Date;
  cancelAtPeriodEnd: boolean;
  cancelled: Fact | null;
  /** The provider's side was ended after the trial; no payment brings it back. */
  closed: boolean;
  /** The company has a newer subscription: this one is over for good. */
  superseded: boolean;
  charges: readonly ChargeTerms[];
  facts: readonly ChargeFact[];
}

export interface DerivedState {
  status: SubscriptionStatus;
  currentPeriodEnd: Date;
  /** The period has closed on a subscription that was to end with it: the caller records the fact. */
  periodClosed: boolean;
  /** When the clock alone changes the state next; null: never. */
  nextMoveAt: Date | null;
  /** Known facts of each charge, by its id. */
  charges: ReadonlyMap<number, StatusFact>;
}

/**
 * The state of a subscription as a function of what happened and of the time (BIL-6, BIL-8, BIL-13). Not a machine that
 * is moved event by event: provider events come late, twice and in any order, and the same facts must give the same
 * state. docs/billing.md settles the cases that these rules leave open.
 */
export function deriveState(facts: SubscriptionFacts, now: Date): DerivedState {
  const story = tell(facts);
  const over = facts.cancelled !== null || facts.closed || facts.superseded;
  const endsAt = beforeNextCharge(facts, story);
  const periodClosed = !over && facts.cancelAtPeriodEnd && now >= endsAt;
  const base: Base = periodClosed ? ENDED : baseState(facts, story, now);
  const blocked = !periodClosed && !facts.superseded && story.chargebacks.size > 0;
  const moves = [
    blocked ? null : base.nextMoveAt,
    facts.cancelAtPeriodEnd && !over && !periodClosed ? endsAt : null,
  ];
  return {
    status: blocked ? 'suspended' : base.status,
    currentPeriodEnd: periodEnd(facts),
    periodClosed,
    nextMoveAt: earliest(moves),
    charges: story.charges,
  };
}

/**
 * Whether the clock would not have ended the subscription at `end`, had all that happened before it been told by then
 * (docs/decisions/0058).
 */
export function isEndRefuted(facts: SubscriptionFacts, end: Date): boolean {
  const paidOn = new Map(facts.charges.map((charge) => [charge.id, charge.paidOn]));
  const happenedBefore = (fact: ChargeFact) => {
    if (seconds(fact.at) <= seconds(end)) return true;
    const day = paidOn.get(fact.chargeId) ?? null;
    return isPayment(fact.status) && day !== null && day <= localDate(end);
  };
  const before = {
    ...facts,
    cancelled: null,
    closed: false,
    facts: facts.facts.filter(happenedBefore),
  };
  const story = tell(before);
  if (before.cancelAtPeriodEnd && end >= beforeNextCharge(before, story)) return false;
  return baseState(before, story, end).status !== 'expired';
}

interface Story {
  charges: Map<number, StatusFact>;
  /** A payment was received: the trial is converted. */
  converted: boolean;
  /** When each charge was paid. */
  paid: Map<number, Fact>;
  /** Charges that became overdue and were not settled by a receipt since, and how. */
  owed: Map<number, ChargeFact>;
  /** The last chargeback of each charge, unless a later receipt has healed it. */
  chargebacks: Map<number, ChargeFact>;
}

/** Goes through all that happened in the order in which it happened. */
function tell(facts: SubscriptionFacts): Story {
  const story: Story = {
    charges: new Map(),
    converted: false,
    paid: new Map(),
    owed: new Map(),
    chargebacks: new Map(),
  };
  for (const fact of facts.facts.toSorted(inOrder)) {
    if (facts.cancelled && isLater(fact, facts.cancelled)) forgive(story, facts.cancelled);
    addFact(story, fact);
  }
  if (facts.cancelled) forgive(story, facts.cancelled);
  return story;
}

/** The end of a subscription ends what its earlier chargebacks had blocked. */
function forgive(story: Story, cancelled: Fact): void {
  for (const [id, chargeback] of story.chargebacks)
    if (!isLater(chargeback, cancelled)) story.chargebacks.delete(id);
}

function addFact(story: Story, fact: ChargeFact): void {
  const known = story.charges.get(fact.chargeId);
  const moves = known === undefined || isStronger(fact, known);
  if (moves) story.charges.set(fact.chargeId, { status: fact.status, at: fact.at });
  if (fact.status === 'overdue' && moves) story.owed.set(fact.chargeId, fact);
  if (fact.status === 'chargeback') story.chargebacks.set(fact.chargeId, fact);
  if (isPayment(fact.status) && !story.paid.has(fact.chargeId)) story.paid.set(fact.chargeId, fact);
  if (fact.status !== 'received') return;
  story.converted = true;
  settle(story, fact);
}

/**
 * A receipt settles what was open when its charge was paid: a card's money comes a month after its payment, and is
 * no payment of what happened meanwhile.
 */
function settle(story: Story, receipt: ChargeFact): void {
  const { chargeId } = receipt;
  const paid = story.paid.get(chargeId) ?? receipt;
  for (const [id, overdue] of story.owed)
    if (id === chargeId || !isLater(overdue, paid)) story.owed.delete(id);
  for (const [id, chargeback] of story.chargebacks) {
    // A chargeback comes after whatever else the same charge had in that second, in whatever order the events arrived.
    const isHealed =
      id === chargeId ? seconds(receipt.at) > seconds(chargeback.at) : !isLater(chargeback, paid);
    if (isHealed) story.chargebacks.delete(id);
  }
}

interface Base {
  status: SubscriptionStatus;
  nextMoveAt: Date | null;
}

const ENDED: Base = { status: 'cancelled', nextMoveAt: null };

function baseState(facts: SubscriptionFacts, story: Story, now: Date): Base {
  if (facts.cancelled) return ENDED;
  if (facts.closed || facts.superseded) return { status: 'expired', nextMoveAt: null };
  return story.converted ? paidState(story, now) : trialState(facts, story, now);
}

function trialState(facts: SubscriptionFacts, story: Story, now: Date): Base {
  // Paid by card and not yet settled: the trial becomes a paid subscription, and does not expire meanwhile.
  if ([...story.charges.values()].some((charge) => charge.status === 'confirmed'))
    return { status: 'trialing', nextMoveAt: null };
  if (now >= facts.trialEndsAt) return { status: 'expired', nextMoveAt: null };
  return { status: 'trialing', nextMoveAt: facts.trialEndsAt };
}

/** The grace runs for charges that can still be paid and were not: not for a confirmed or deleted one. */
function paidState(story: Story, now: Date): Base {
  if (story.owed.size === 0) return { status: 'active', nextMoveAt: null };
  const running = [...story.owed].filter(([id]) =>
    ['overdue', 'failed'].includes(story.charges.get(id)!.status),
  );
  const since = earliest(running.map(([, overdue]) => overdue.knownAt));
  if (since === null) return { status: 'past_due', nextMoveAt: null };
  const suspendAt = new Date(since.getTime() + BILLING_GRACE_DAYS * DAY_MS);
  return now >= suspendAt
    ? { status: 'suspended', nextMoveAt: null }
    : { status: 'past_due', nextMoveAt: suspendAt };
}

/** Each charge pays for a cycle from its due date on; from its payment when that came later. */
function periodEnd(facts: SubscriptionFacts): Date {
  const ends = facts.charges.map((charge) => {
    const payments = facts.facts.filter((fact) => fact.chargeId === charge.id && isPayment(fact.status));
    const paidAt = earliest(payments.map((payment) => payment.at));
    if (paidAt === null || charge.paidCycle === null) return null;
    const paidOn = localDate(paidAt);
    return startOfLocalDay(addCycle(paidOn > charge.dueDate ? paidOn : charge.dueDate, charge.paidCycle));
  });
  return ends.reduce((last, end) => (end && (!last || end > last) ? end : last), null) ?? facts.trialEndsAt;
}

/**
 * A subscription that is to end with its period ends before its card is charged again: on the last day of a trial,
 * and after a late payment, the provider charges it before the period is over.
 */
function beforeNextCharge(facts: SubscriptionFacts, story: Story): Date {
  const end = periodEnd(facts);
  if (facts.billingType !== 'credit_card') return end;
  const open = facts.charges.filter(({ id }) => (story.charges.get(id)?.status ?? 'pending') === 'pending');
  return earliest([end, ...open.map(({ dueDate }) => startOfLocalDay(dueDate))])!;
}

function inOrder(a: Fact, b: Fact): number {
  return seconds(a.at) - seconds(b.at) || a.seq - b.seq;
}

/** The provider tells seconds; within one, the order in which we learned decides. */
export function isLater(a: Fact, b: Fact): boolean {
  return inOrder(a, b) > 0;
}

function seconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}

function earliest(moments: readonly (Date | null)[]): Date | null {
  return moments.reduce((first, moment) => (moment && (!first || moment < first) ? moment : first), null);
}
