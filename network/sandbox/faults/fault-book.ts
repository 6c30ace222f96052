/** The faults in force: who they strike, how often they did, and when they are over. */
import type { Account, Phone } from '../state/model.ts';
import type { FaultKind, FaultOrder, SendPlan } from './fault.ts';

export interface Fault {
  readonly id: number;
  readonly order: FaultOrder;
  /** How often it could have been injected, and how often it was. */
  chances: number;
  hits: number;
}

/** Who a session is; `account` is absent while it is not paired. */
export interface FaultSubject {
  instanceId: string;
  account: Account | null;
}

type LoginRefusal = 'banned' | 'hard_paused' | 'offline';

export interface FaultBook {
  add(order: FaultOrder): Fault;
  /** Removes the faults that `matches` picks, and returns them. */
  remove(matches: (fault: Fault) => boolean): Fault[];
  list(): readonly Fault[];
  /** Null when nothing strikes: the way of nearly every send. */
  onSend(subject: FaultSubject, to: Phone | null): SendPlan | null;
  onLogin(subject: FaultSubject): LoginRefusal | null;
  /** How much later the answer to a question comes. */
  answerDelayMs(subject: FaultSubject): number;
  repeatsEvents(subject: FaultSubject): boolean;
  /** True when the media that this phone wants is no longer there. */
  expiresMedia(phone: Phone): boolean;
  /** How the download that this phone begins goes wrong; null when it does not. */
  breaksMedia(phone: Phone): 'hang' | 'cut' | 'error' | null;
  isOffline(phone: Phone): boolean;
  /** Counts a hit that was made elsewhere, such as closing a session when a ban is ordered. */
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

  /** Draws whether a fault that applies strikes this time. */
  function strikes(fault: Fault): boolean {
    const { order } = fault;
    fault.chances++;
    const isTurn = order.kind !== 'drop' || fault.chances % order.nth === 0;
    if (!isTurn || Math.random() >= order.probability) return false;
    countHit(fault);
    return true;
  }

  /** The first fault of this kind that strikes this session, or the phone that it is about. */
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

/** True when the fault is aimed at this session, or at the phone that it sends to; no aim is everyone. */
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
