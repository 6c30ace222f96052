/**
 * How far an instance queue has come. Each function returns the next state, without I/O and without reading a
 * clock. Times are monotonic, in ms.
 */
export interface QueueProgress {
  /** Every task up to this one was handed over, deferred or cancelled. */
  readonly handledSeq: number;
  /** There may be work above `handledSeq`, or work that failed. */
  readonly mayHaveWork: boolean;
  readonly hasSession: boolean;
  readonly phase: 'idle' | 'working';
  /** Number of tasks that are being prepared (e.g. typed), which has no time limit, and since when some are. */
  readonly preparing: number;
  readonly preparingSinceMs: number;
  /** Time of the last progress. */
  readonly progressAtMs: number;
}

export function newProgress(nowMs: number): QueueProgress {
  return {
    handledSeq: 0,
    mayHaveWork: true,
    hasSession: false,
    phase: 'working',
    preparing: 0,
    preparingSinceMs: nowMs,
    progressAtMs: nowMs,
  };
}

/**
 * Work exists up to this seq or, without one, may exist. Returns the same state if it was already handled.
 */
export function afterWake(state: QueueProgress, upToSeq: number | undefined, nowMs: number): QueueProgress {
  if (upToSeq !== undefined && upToSeq <= state.handledSeq) return state;
  return { ...state, mayHaveWork: true, progressAtMs: isAtRest(state) ? nowMs : state.progressAtMs };
}

export function afterAttach(state: QueueProgress, nowMs: number): QueueProgress {
  return { ...state, hasSession: true, mayHaveWork: true, progressAtMs: nowMs };
}

export function afterDetach(state: QueueProgress): QueueProgress {
  return { ...state, hasSession: false };
}

/** The queue continues after a wait. */
export function afterRest(state: QueueProgress, nowMs: number): QueueProgress {
  return { ...state, phase: 'working', progressAtMs: isAtRest(state) ? nowMs : state.progressAtMs };
}

/** The queue begins to read pending work. */
export function onRead(state: QueueProgress): QueueProgress {
  return { ...state, mayHaveWork: false };
}

export function onPrepare(state: QueueProgress, nowMs: number): QueueProgress {
  const preparingSinceMs = state.preparing === 0 ? nowMs : state.preparingSinceMs;
  return { ...state, preparing: state.preparing + 1, preparingSinceMs };
}

/** A task is ready, or preparing it failed. With the last one, the queue is as late as it was before the first. */
export function afterPrepare(state: QueueProgress, nowMs: number): QueueProgress {
  const preparing = state.preparing - 1;
  if (preparing > 0) return { ...state, preparing };
  const lateBeforeMs = Math.max(0, state.preparingSinceMs - state.progressAtMs);
  return { ...state, preparing, progressAtMs: nowMs - lateBeforeMs };
}

/** A task was attempted, with any outcome. */
export function afterAttempt(state: QueueProgress, nowMs: number): QueueProgress {
  return { ...state, progressAtMs: nowMs };
}

export function afterTask(state: QueueProgress, seq: number): QueueProgress {
  return { ...state, handledSeq: seq };
}

/** A step failed or the session ended: tasks not handed over are read again. */
export function afterInterruption(state: QueueProgress): QueueProgress {
  return { ...state, mayHaveWork: true };
}

/** No work is left for now. */
export function onIdle(state: QueueProgress): QueueProgress {
  return { ...state, phase: 'idle' };
}

/** Whether there is work now; `hasDue`: a deferred task is due. */
export function hasWork(state: QueueProgress, hasDue: boolean): boolean {
  return state.hasSession && (state.mayHaveWork || hasDue);
}

/** The last handled seq while the queue knows of no work; null while it is working or has no session. */
export function idleAt(state: QueueProgress): number | null {
  return state.hasSession && isAtRest(state) ? state.handledSeq : null;
}

/** How long it has known of work without making progress. */
export function lateMs(state: QueueProgress, nowMs: number): number {
  return state.preparing > 0 || isAtRest(state) ? 0 : nowMs - state.progressAtMs;
}

function isAtRest(state: QueueProgress): boolean {
  return state.phase === 'idle' && !state.mayHaveWork;
}
