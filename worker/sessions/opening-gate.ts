/**
 * How many network sessions a worker opens at a time. One that starts, or takes over, with hundreds of instances, or
 * whose network comes back, would otherwise open all of them in the same moment (INS-22).
 */
export interface OpeningLimits {
  /** Sessions that are being opened and have not heard from the network yet. */
  atOnce: number;
  /** Openings begun, on average. */
  perSecond: number;
}

export const OPENING_LIMITS: OpeningLimits = { atOnce: 32, perSecond: 100 };

/** An opening of which nothing is heard for so long no longer keeps others waiting. */
const OPENING_MAX_MS = 20_000;

export interface OpeningState {
  readonly underWay: number;
  /** Openings that may begin without a wait; it grows with the time, up to `atOnce`. */
  readonly credit: number;
  readonly atMs: number;
}

/** Whether another session may be opened now; `waitMs` null: not before one of those under way has ended. */
export function decideOpening(
  state: OpeningState,
  limits: OpeningLimits,
  nowMs: number,
): { opens: true; state: OpeningState } | { opens: false; waitMs: number | null } {
  if (state.underWay >= limits.atOnce) return { opens: false, waitMs: null };
  const earned = (Math.max(0, nowMs - state.atMs) / 1_000) * limits.perSecond;
  const credit = Math.min(limits.atOnce, state.credit + earned);
  if (credit < 1) {
    return { opens: false, waitMs: Math.max(1, Math.ceil(((1 - credit) / limits.perSecond) * 1_000)) };
  }
  return { opens: true, state: { underWay: state.underWay + 1, credit: credit - 1, atMs: nowMs } };
}

/** The turn of one instance among those that want to open their session. */
export interface OpeningTurn {
  /** True when it is this one's turn: it is under way from now on. Else it waits, and `onTurn` is called later. */
  take(): boolean;
  isWaiting(): boolean;
  /** The opening came to something, or is no longer wanted. May be called at any time. */
  end(): void;
}

export interface OpeningGate {
  turn(onTurn: () => void): OpeningTurn;
}

/** Turns go by in the order in which they were asked for. */
export function createOpeningGate(
  limits: OpeningLimits,
  nowMs: () => number = () => performance.now(),
): OpeningGate {
  let state: OpeningState = { underWay: 0, credit: limits.atOnce, atMs: nowMs() };
  const waiting = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;

  function tryOpen(): boolean {
    const decided = decideOpening(state, limits, nowMs());
    if (decided.opens) state = decided.state;
    else if (decided.waitMs !== null) callNextIn(decided.waitMs);
    return decided.opens;
  }

  function callNext(): void {
    for (const grant of waiting) {
      if (!tryOpen()) return;
      waiting.delete(grant);
      grant();
    }
  }

  function callNextIn(ms: number): void {
    timer ??= setTimeout(() => {
      timer = null;
      callNext();
    }, ms);
    timer.unref();
  }

  function ended(): void {
    state = { ...state, underWay: state.underWay - 1 };
    callNext();
  }

  return {
    turn(onTurn) {
      /** `granted`: it counts as under way, and who asked has not begun yet. */
      let stage: 'idle' | 'waiting' | 'granted' | 'under_way' = 'idle';
      let limit: NodeJS.Timeout | undefined;
      function begin(next: 'granted' | 'under_way'): void {
        stage = next;
        limit ??= setTimeout(end, OPENING_MAX_MS).unref();
      }
      function grant(): void {
        begin('granted');
        onTurn();
      }
      function end(): void {
        const before = stage;
        stage = 'idle';
        clearTimeout(limit);
        limit = undefined;
        if (before === 'waiting') waiting.delete(grant);
        else if (before !== 'idle') ended();
      }
      return {
        take() {
          if (stage === 'waiting') return false;
          if (stage !== 'idle' || (waiting.size === 0 && tryOpen())) {
            begin('under_way');
            return true;
          }
          stage = 'waiting';
          waiting.add(grant);
          return false;
        },
        isWaiting: () => stage === 'waiting',
        end,
      };
    },
  };
}
