/**
 * Limits on opening network sessions. Without them, a worker that starts or takes over hundreds of instances,
 * or whose network comes back, would open all sessions at once (INS-22).
 */
export interface OpeningLimits {
  /** Sessions being opened that have received nothing from the network yet. */
  atOnce: number;
  /** Openings started, on average. */
  perSecond: number;
}

export const OPENING_LIMITS: OpeningLimits = { atOnce: 32, perSecond: 100 };

/** An opening without any event for this long stops blocking others. */
const OPENING_MAX_MS = 20_000;

export interface OpeningState {
  readonly underWay: number;
  /** Openings that may start without a wait; grows with time, up to `atOnce`. */
  readonly credit: number;
  readonly atMs: number;
}

/** Whether another session may be opened now; `waitMs` null: only after an opening in progress has ended. */
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

/** One instance's turn in the queue for opening sessions. */
export interface OpeningTurn {
  /**
   * True: it is this instance's turn, and the opening counts as in progress. Otherwise it waits, and `onTurn`
   * is called later.
   */
  take(): boolean;
  isWaiting(): boolean;
  /** The opening has ended or is no longer wanted. May be called at any time. */
  end(): void;
}

export interface OpeningGate {
  turn(onTurn: () => void): OpeningTurn;
}

/** Gives turns in the order of the requests. */
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
      /** `granted`: it counts as in progress, but the requester has not begun yet. */
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
