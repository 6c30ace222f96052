import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';
import type { SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import { BILLING_GRACE_DAYS } from '@posthorn/contract/limits.ts';

const DAY_MS = 86_400_000;

/** Something that happened: when, and as the how-manieth thing we learned of. */
export interface Fact {
  at: Date;
  seq: number;
}

export interface ChargeFacts {
  status: ChargeStatus;
  /** The event that gave it. */
  statusFact: Fact;
  /** The last receipt. */
  received: Fact | null;
  /** The end of the period that its first receipt paid for. */
  coversUntil: Date | null;
  /** `knownAt`: when we learned of it; the grace period runs from there. */
  overdue: (Fact & { knownAt: Date }) | null;
  chargeback: Fact | null;
}

export interface SubscriptionFacts {
  trialEndsAt: Date;
  cancelAtPeriodEnd: boolean;
  cancelled: Fact | null;
  /** The provider's side was ended after the trial; no payment brings it back. */
  closed: boolean;
  /** The company has a newer subscription: this one is over for good. */
  superseded: boolean;
  charges: readonly ChargeFacts[];
}

export interface DerivedState {
  status: SubscriptionStatus;
  currentPeriodEnd: Date;
  /** The period has closed on a subscription that was to end with it: the caller records the fact. */
  periodClosed: boolean;
  /** When the clock alone changes the state next; null: never. */
  nextMoveAt: Date | null;
}

/**
 * The state of a subscription as a function of what happened and of the time (spec 3.1). Not a machine
 * that is moved event by event: provider events come late, twice and in any order, and the same facts must
 * give the same state. What the spec's table leaves open is settled in docs/billing.md.
 */
export function deriveState(facts: SubscriptionFacts, now: Date): DerivedState {
  const paidUntil = latest(facts.charges.map((charge) => charge.coversUntil));
  const currentPeriodEnd = paidUntil ?? facts.trialEndsAt;
  const over = facts.cancelled !== null || facts.closed || facts.superseded;
  const periodClosed = !over && facts.cancelAtPeriodEnd && now >= currentPeriodEnd;
  const base = periodClosed ? { status: 'cancelled' as const, nextMoveAt: null } : baseState(facts, now);
  const blocked = !periodClosed && isChargedBack(facts);
  const moves = [
    blocked ? null : base.nextMoveAt,
    facts.cancelAtPeriodEnd && !over && !periodClosed ? currentPeriodEnd : null,
  ];
  return {
    status: blocked ? 'suspended' : base.status,
    currentPeriodEnd,
    periodClosed,
    nextMoveAt: earliest(moves),
  };
}

interface Base {
  status: SubscriptionStatus;
  nextMoveAt: Date | null;
}

function baseState(facts: SubscriptionFacts, now: Date): Base {
  if (facts.cancelled) return { status: 'cancelled', nextMoveAt: null };
  const receipt = lastFact(facts.charges.map((charge) => charge.received));
  if (facts.closed || facts.superseded) return { status: 'expired', nextMoveAt: null };
  return receipt ? paidState(facts, receipt, now) : trialState(facts, now);
}

function trialState(facts: SubscriptionFacts, now: Date): Base {
  // Paid by card and not yet settled: that is a conversion under way, not a trial without one.
  if (facts.charges.some((charge) => charge.status === 'confirmed'))
    return { status: 'trialing', nextMoveAt: null };
  if (now >= facts.trialEndsAt) return { status: 'expired', nextMoveAt: null };
  return { status: 'trialing', nextMoveAt: facts.trialEndsAt };
}

/** A receipt settles what was overdue before it; what became overdue since is owed. */
function paidState(facts: SubscriptionFacts, receipt: Fact, now: Date): Base {
  const owed = facts.charges.filter(
    (charge) => becameOverdue(charge) && charge.received === null && isLater(charge.overdue!, receipt),
  );
  if (owed.length === 0) return { status: 'active', nextMoveAt: null };
  // The grace runs only for a charge that can still be paid and was not: not for a confirmed or deleted one.
  const running = owed.filter(({ status }) => status === 'overdue' || status === 'failed');
  const since = earliest(running.map((charge) => charge.overdue!.knownAt));
  if (since === null) return { status: 'past_due', nextMoveAt: null };
  const suspendAt = new Date(since.getTime() + BILLING_GRACE_DAYS * DAY_MS);
  return now >= suspendAt
    ? { status: 'suspended', nextMoveAt: null }
    : { status: 'past_due', nextMoveAt: suspendAt };
}

/** An overdue notice that is older than what came of the charge counts; one that comes after that is stale. */
function becameOverdue({ status, statusFact, overdue }: ChargeFacts): boolean {
  if (overdue === null || status === 'refunded') return false;
  return status === 'overdue' || status === 'failed' || isLater(statusFact, overdue);
}

/** A chargeback suspends from any state, until a later receipt or the end of the subscription. */
function isChargedBack(facts: SubscriptionFacts): boolean {
  if (facts.superseded) return false;
  return facts.charges.some((charge) => {
    const { chargeback } = charge;
    if (chargeback === null) return false;
    if (facts.cancelled && !isLater(chargeback, facts.cancelled)) return false;
    return !facts.charges.some(
      (other) =>
        other.received !== null &&
        (other === charge
          ? seconds(other.received) > seconds(chargeback)
          : isLater(other.received, chargeback)),
    );
  });
}

/** The provider tells seconds; within one, the order in which we learned decides. */
export function isLater(a: Fact, b: Fact): boolean {
  const bySecond = seconds(a) - seconds(b);
  return bySecond !== 0 ? bySecond > 0 : a.seq > b.seq;
}

function seconds(fact: Fact): number {
  return Math.floor(fact.at.getTime() / 1000);
}

function lastFact(facts: readonly (Fact | null)[]): Fact | null {
  return facts.reduce((last, fact) => (fact && (!last || isLater(fact, last)) ? fact : last), null);
}

function latest(moments: readonly (Date | null)[]): Date | null {
  return moments.reduce((last, moment) => (moment && (!last || moment > last) ? moment : last), null);
}

function earliest(moments: readonly (Date | null)[]): Date | null {
  return moments.reduce((first, moment) => (moment && (!first || moment < first) ? moment : first), null);
}
