import type { ClaimedDelivery, Quota } from './claim-deliveries.ts';
import { FULL_SHARE } from './share-out.ts';

/** Maximum deliveries held, excluding those stuck on slow endpoints. */
const HELD_MAX = 1024;
/**
 * Maximum deliveries held in all: limits memory and sockets when hundreds of endpoints hang. The outbound
 * connections per host must be as many, or hanging endpoints on a host block the others there.
 */
export const HELD_WITH_SLOW_MAX = 4096;
/** Claims are small, because other attempts wait while a claim's deliveries begin. */
const CLAIM_MAX = 128;
/** Maximum retries in one claim, over all endpoints. */
const RETRIES_MAX = 32;
/**
 * While first attempts are active, a claim of retries is followed by a cooldown of this many times its
 * duration: a replay of thousands takes a fraction of the machine, however fast it is.
 */
const RETRY_COOLDOWN = 5;
/** The same for a company that took its full share while others were active: leaves room for them. */
const BURST_COOLDOWN = 2;
const LIVE_MS = 1_000;
const STARVED_STEP = 64;

/**
 * The dispatcher's claims and limits. Each function returns the next state, without I/O and without reading a
 * clock. Times are monotonic, in ms.
 */
export interface ClaimState {
  /** Deliveries claimed and not ended. */
  readonly held: number;
  /** Deliveries requested by the claims in progress. */
  readonly asked: number;
  /** Companies with a claim in progress or a cooldown after one. */
  readonly asking: ReadonlySet<number>;
  /** Number of held deliveries when work was left out for lack of budget; null: none was. */
  readonly starvedAt: number | null;
  /** When a claim last returned first attempts. */
  readonly freshAtMs: number;
  /** No retries are claimed before this time; infinite while a claim of retries is in progress. */
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

/**
 * The maximum of the next claim; null: claim nothing. `slow`: held deliveries that wait at slow endpoints.
 */
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
 * Requested first attempts by company. The request, not the result, decides on a cooldown: a burst comes in
 * pieces, and without cooldowns between them the p99 of others was 2.0 to 2.1 times the quiet one, not 1.3 to
 * 1.7.
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

/** A claim starts. */
export function onClaim(state: ClaimState, quotas: readonly Quota[], shares: Shares): ClaimState {
  return {
    ...state,
    asked: state.asked + sumOf(quotas),
    asking: new Set([...state.asking, ...shares.keys()]),
    retriesFromMs: asksRetries(quotas) ? Number.POSITIVE_INFINITY : state.retriesFromMs,
  };
}

/** The database answered a claim, or failed (null). `cooldownMs`: cooldown of the retries. */
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

/**
 * A claim is over, with any result. `cooling`: companies that may be claimed for again after `cooldownMs`.
 */
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

/**
 * `change` more deliveries are expected from events being written; negative: they were written, or were not.
 */
export function afterReserving(state: ClaimState, change: number): ClaimState {
  return { ...state, asked: state.asked + change };
}

/** First attempts arrived without a claim. */
export function afterHandOver(state: ClaimState, nowMs: number): ClaimState {
  return { ...state, freshAtMs: nowMs };
}

export function afterCooldown(state: ClaimState, company: number): ClaimState {
  const asking = new Set(state.asking);
  asking.delete(company);
  return { ...state, asking };
}

/** `change` more deliveries are held; negative: they ended or were released. */
export function afterHolding(state: ClaimState, change: number): ClaimState {
  return { ...state, held: state.held + change };
}

/**
 * Whether the end of an attempt for this company should start a claim. `desires`: its endpoint has work and
 * room.
 */
export function wantsClaim(state: ClaimState, company: number, desires: () => boolean): boolean {
  // The claim in progress checks again when it ends.
  if (state.asking.has(company)) return false;
  return state.starvedAt === null ? desires() : state.held <= state.starvedAt - STARVED_STEP;
}

function sumOf(quotas: readonly Quota[]): number {
  return quotas.reduce((sum, quota) => sum + quota.fresh + quota.retries, 0);
}

function asksRetries(quotas: readonly Quota[]): boolean {
  return quotas.some(({ retries }) => retries > 0);
}
