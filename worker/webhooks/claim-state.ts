import type { ClaimedDelivery, Quota } from './claim-deliveries.ts';
import { FULL_SHARE } from './endpoints.ts';

/** Maximum deliveries held, excluding those stuck on slow endpoints. */
const HELD_MAX = 1024;
/**
 * Maximum deliveries held in all: what bounds the memory and the sockets when hundreds of endpoints hang. The
 * outbound connections to one host must be as many, or endpoints that hang there keep those of others waiting
 * for one.
 */
export const HELD_WITH_SLOW_MAX = 4096;
/** Small claims: the attempts of others wait while what came of one is begun. */
const CLAIM_MAX = 128;
/** Retries in one claim, over all endpoints. */
const RETRIES_MAX = 32;
/**
 * While first attempts are about, a claim of retries is followed by a cooldown of so many times as long as it
 * took: a replay of thousands takes a fraction of the machine, however fast that is.
 */
const RETRY_COOLDOWN = 5;
/** The same for a company that took its full share while others were active: its burst leaves them air. */
const BURST_COOLDOWN = 2;
const LIVE_MS = 1_000;
const STARVED_STEP = 64;

/**
 * What the dispatcher has claimed and may claim. Each function gives the state that follows; none of them does
 * I/O or reads a clock. Times are monotonic, in ms.
 */
export interface ClaimState {
  /** Deliveries claimed and not ended. */
  readonly held: number;
  /** Deliveries asked for by the claims under way. */
  readonly asked: number;
  /** Companies that a claim is under way for, or that cool down after one. */
  readonly asking: ReadonlySet<number>;
  /** Work had to be left out for want of budget: held deliveries at that time. */
  readonly starvedAt: number | null;
  /** When a claim last brought first attempts. */
  readonly freshAtMs: number;
  /** No retries are claimed before; infinite while a claim of some is under way. */
  readonly retriesFromMs: number;
}

export const NOTHING_CLAIMED: ClaimState = {
  held: 0,
  asked: 0,
  asking: new Set(),
  starvedAt: null,
  freshAtMs: Number.NEGATIVE_INFINITY,
  retriesFromMs: 0,
};

/** What the next claim may bring; null: nothing. `slow`: those held that wait at slow endpoints. */
export function budgetOf(
  state: ClaimState,
  slow: number,
  nowMs: number,
): { all: number; retries: number } | null {
  const expected = state.held + state.asked;
  const all = Math.min(HELD_MAX - (expected - slow), HELD_WITH_SLOW_MAX - expected, CLAIM_MAX);
  if (all <= 0) return null;
  return { all, retries: nowMs >= state.retriesFromMs ? RETRIES_MAX : 0 };
}

/** The budget was shared out; null: there was none. */
export function afterSharing(
  state: ClaimState,
  budget: { all: number } | null,
  quotas: readonly Quota[],
): ClaimState {
  if (budget === null || sumOf(quotas) >= budget.all) return { ...state, starvedAt: state.held };
  return state.asking.size === 0 ? { ...state, starvedAt: null } : state;
}

/**
 * First attempts asked for, by company. What was asked for and not what came decides on a cooldown: a burst comes
 * in pieces, and without cooldowns between them the p99 of the others was 2.0 to 2.1 times the quiet one, not
 * 1.3 to 1.7.
 */
export type Shares = ReadonlyMap<number, number>;

export function sharesOf(quotas: readonly Quota[], companyOf: (webhookId: number) => number): Shares {
  const shares = new Map<number, number>();
  for (const { webhookId, fresh } of quotas) {
    const companyId = companyOf(webhookId);
    shares.set(companyId, (shares.get(companyId) ?? 0) + fresh);
  }
  return shares;
}

/** A claim goes out. */
export function onClaim(state: ClaimState, quotas: readonly Quota[], shares: Shares): ClaimState {
  return {
    ...state,
    asked: state.asked + sumOf(quotas),
    asking: new Set([...state.asking, ...shares.keys()]),
    retriesFromMs: asksRetries(quotas) ? Number.POSITIVE_INFINITY : state.retriesFromMs,
  };
}

/** The database has answered a claim, or failed to (null). `cooldownMs`: that of the retries. */
export function afterAnswer(
  state: ClaimState,
  quotas: readonly Quota[],
  claimed: readonly Pick<ClaimedDelivery, 'attempts'>[] | null,
  at: { startedAtMs: number; nowMs: number },
): { state: ClaimState; cooldownMs: number } {
  const freshAtMs = claimed?.some(({ attempts }) => attempts === 0) ? at.nowMs : state.freshAtMs;
  if (!asksRetries(quotas)) return { state: { ...state, freshAtMs }, cooldownMs: 0 };
  const cools = claimed?.some(({ attempts }) => attempts > 0) && at.nowMs - freshAtMs < LIVE_MS;
  const cooldownMs = cools ? (at.nowMs - at.startedAtMs) * RETRY_COOLDOWN : 0;
  return { state: { ...state, freshAtMs, retriesFromMs: at.nowMs + cooldownMs }, cooldownMs };
}

/** A claim is over, whatever it brought. `cooling`: companies that are asked for again after `cooldownMs`. */
export function afterClaim(
  state: ClaimState,
  claim: { quotas: readonly Quota[]; shares: Shares; tookMs: number; areShared: boolean },
): { state: ClaimState; cooling: number[]; cooldownMs: number } {
  const cooling = [...claim.shares]
    .filter(([, fresh]) => fresh >= FULL_SHARE && claim.areShared)
    .map(([company]) => company);
  const asking = new Set(state.asking);
  for (const company of claim.shares.keys()) if (!cooling.includes(company)) asking.delete(company);
  return {
    state: { ...state, asked: state.asked - sumOf(claim.quotas), asking },
    cooling,
    cooldownMs: claim.tookMs * BURST_COOLDOWN,
  };
}

/** So many deliveries are expected more, of events that are being written; below 0: they were, or were not. */
export function afterReserving(state: ClaimState, change: number): ClaimState {
  return { ...state, asked: state.asked + change };
}

/** First attempts came without a claim. */
export function afterHandOver(state: ClaimState, nowMs: number): ClaimState {
  return { ...state, freshAtMs: nowMs };
}

export function afterCooldown(state: ClaimState, company: number): ClaimState {
  const asking = new Set(state.asking);
  asking.delete(company);
  return { ...state, asking };
}

/** So many are held more; below 0: have ended, or are held no longer. */
export function afterHolding(state: ClaimState, change: number): ClaimState {
  return { ...state, held: state.held + change };
}

/** Whether the end of an attempt for this company asks for a claim. `desires`: its endpoint has work and room. */
export function wantsClaim(state: ClaimState, company: number, desires: () => boolean): boolean {
  // The end of the claim that is under way asks again by itself.
  if (state.asking.has(company)) return false;
  return state.starvedAt === null ? desires() : state.held <= state.starvedAt - STARVED_STEP;
}

function sumOf(quotas: readonly Quota[]): number {
  return quotas.reduce((sum, quota) => sum + quota.fresh + quota.retries, 0);
}

function asksRetries(quotas: readonly Quota[]): boolean {
  return quotas.some(({ retries }) => retries > 0);
}
