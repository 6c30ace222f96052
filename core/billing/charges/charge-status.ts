import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';

/** The status of a charge after each provider event (BIL-13). */
export const CHARGE_STATUS_OF = {
  PAYMENT_CREATED: 'pending',
  PAYMENT_CONFIRMED: 'confirmed',
  PAYMENT_RECEIVED: 'received',
  PAYMENT_OVERDUE: 'overdue',
  PAYMENT_REPROVED_BY_RISK_ANALYSIS: 'failed',
  PAYMENT_REFUNDED: 'refunded',
  PAYMENT_CHARGEBACK_REQUESTED: 'chargeback',
  PAYMENT_DELETED: 'deleted',
} as const satisfies Record<string, ChargeStatus>;
export type ChargeEvent = keyof typeof CHARGE_STATUS_OF;

export function isChargeEvent(event: string): event is ChargeEvent {
  return Object.hasOwn(CHARGE_STATUS_OF, event);
}

/** A card and a boleto have paid once they are confirmed; their money comes later. */
export function isPayment(status: ChargeStatus): boolean {
  return status === 'confirmed' || status === 'received';
}

/**
 * Later stages of a charge win over earlier ones whatever their times, so that an old or repeated PAYMENT_CREATED
 * or PAYMENT_OVERDUE undoes nothing. Within a stage the later event wins: what was paid can be refunded, charged
 * back and, after a dispute, received again.
 */
const STAGE: Record<ChargeStatus, number> = {
  pending: 0,
  overdue: 1,
  failed: 1,
  confirmed: 2,
  received: 3,
  refunded: 3,
  chargeback: 3,
  deleted: 3,
};

/** Decides between two statuses of the same stage and second. */
const RANK: Record<ChargeStatus, number> = {
  pending: 0,
  overdue: 0,
  failed: 1,
  confirmed: 0,
  received: 0,
  refunded: 1,
  chargeback: 2,
  deleted: 3,
};

export interface StatusFact {
  status: ChargeStatus;
  at: Date;
}

/**
 * Whether `fact` prevails over `other`. A total order, so the result does not depend on the order in which facts
 * arrive, and repeats change nothing.
 */
export function isStronger(fact: StatusFact, other: StatusFact): boolean {
  const byStage = STAGE[fact.status] - STAGE[other.status];
  if (byStage !== 0) return byStage > 0;
  const byTime = fact.at.getTime() - other.at.getTime();
  if (byTime !== 0) return byTime > 0;
  return RANK[fact.status] > RANK[other.status];
}
