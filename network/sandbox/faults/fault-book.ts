/** The faults in force: their targets, number of hits, and end. */
import type { Account, Phone } from '../state/model.ts';
import type { FaultKind, FaultOrder, SendPlan } from './fault.ts';

export interface Fault {
  readonly id: number;
  readonly order: FaultOrder;
  /** How often it could have been injected, and how often it was. */
  chances: number;
  hits: number;
}

/** Identifies a session; `account` is null while it is not paired. */
export interface FaultSubject {
  instanceId: string;
  account: Account | null;
}

type LoginRefusal = 'banned' | 'hard_paused' | 'offline';

export interface FaultBook {
  add(order: FaultOrder): Fault;
  /** Removes the faults selected by `matches`, and returns them. */
  remove(matches: (fault: Fault) => boolean): Fault[];
  list(): readonly Fault[];
  /** Null if no fault applies, as for nearly every send. */
  onSend(subject: FaultSubject, to: Phone | null): SendPlan | null;
  onLogin(subject: FaultSubject): LoginRefusal | null;
  /** Delay of the answer to a driver's call. */
  answerDelayMs(subject: FaultSubject): number;
  repeatsEvents(subject: FaultSubject): boolean;
  /** Whether the media this phone requests is expired. */
  expiresMedia(phone: Phone): boolean;
  /** How a download that this phone starts fails; null if it does not. */
  breaksMedia(phone: Phone): 'hang' | 'cut' | 'error' | null;
  isOffline(phone: Phone): boolean;
  /** Counts a hit that happened elsewhere, e.g. a ban that closed a session. */
  countHit(fault: Fault): void;
}

const LOGIN_REFUSALS: Partial<Record<FaultKind, LoginRefusal>> = {
  ban: 'banned',
  hard_pause: 'hard_paused',
  offline: 'offline',
};

export function createFaultBook(): FaultBook {
  const faults = new Set<Fault>();
  let lastId = 0;
  function countHit(fault: Fault) {
    fault.hits++;
    if (fault.order.times !== undefined && fault.hits >= fault.order.times) faults.delete(fault);
  }

  /** Decides at random whether an applicable fault is injected this time. */
  function strikes(fault: Fault): boolean {
    const { order } = fault;
    fault.chances++;
    const isTurn = order.kind !== 'drop' || fault.chances % order.nth === 0;
    if (!isTurn || Math.random() >= order.probability) return false;
    countHit(fault);
    return true;
  }

  /** The first fault of this kind that is injected for this session, or for the phone concerned. */
  function striking<K extends FaultKind>(
    kind: K,
    subject: FaultSubject,
    phone?: Phone,
  ): Extract<FaultOrder, { kind: K }> | null {
    for (const fault of faults) {
      if (fault.order.kind !== kind) continue;
      if (strikesSubject(fault.order, subject, phone) && strikes(fault))
        return fault.order as Extract<FaultOrder, { kind: K }>;
    }
    return null;
  }

  return {
    add(order) {
      const fault = { id: ++lastId, order, chances: 0, hits: 0 };
      faults.add(fault);
      return fault;
    },
    remove(matches) {
      const removed = [...faults].filter(matches);
      for (const fault of removed) faults.delete(fault);
      return removed;
    },
    list: () => [...faults],
    onSend(subject, to) {
      if (faults.size === 0) return null;
      let plan: SendPlan | null = null;
      for (const fault of faults) {
        const { kind } = fault.order;
        if (kind !== 'delay' && kind !== 'refuse' && kind !== 'silence' && kind !== 'drop') continue;
        if (!strikesSubject(fault.order, subject, to) || !strikes(fault)) continue;
        plan ??= { delayMs: 0 };
        applyToPlan(fault, plan);
      }
      return plan;
    },
    onLogin(subject) {
      for (const fault of faults) {
        const refusal = LOGIN_REFUSALS[fault.order.kind];
        if (refusal && strikesSubject(fault.order, subject) && strikes(fault)) return refusal;
      }
      return null;
    },
    answerDelayMs: (subject) => striking('delay_answers', subject)?.delay_ms ?? 0,
    repeatsEvents: (subject) => striking('repeat_events', subject) !== null,
    expiresMedia: (phone) => striking('expire_media', subjectOf(phone), phone) !== null,
    breaksMedia: (phone) => striking('break_media', subjectOf(phone), phone)?.how ?? null,
    isOffline: (phone) =>
      faults.size > 0 &&
      [...faults].some(({ order }) => order.kind === 'offline' && order.phone === phone.phone),
    countHit,
  };
}

function subjectOf({ account }: Phone): FaultSubject {
  return { instanceId: account?.instanceId ?? '', account };
}

function applyToPlan(fault: Fault, plan: SendPlan) {
  const { order } = fault;
  if (order.kind === 'delay') plan.delayMs = Math.max(plan.delayMs, order.delay_ms);
  if (order.kind === 'refuse') plan.refuse = order.reason;
  if (order.kind === 'silence') plan.silentAt = order.at;
  if (order.kind === 'drop' && order.at !== 'now') plan.dropAt = order.at;
}

/**
 * Whether the fault targets this session, or the phone it sends to; without a target it applies to everyone.
 */
export function strikesSubject(
  order: FaultOrder,
  { instanceId, account }: FaultSubject,
  to?: Phone | null,
): boolean {
  const number = account?.phone.phone;
  if (order.instance !== undefined && order.instance !== instanceId) return false;
  if (order.account !== undefined && order.account !== number) return false;
  return order.phone === undefined || order.phone === number || order.phone === to?.phone;
}
