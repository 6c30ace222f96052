/**
 * How far an instance queue has come. Each function gives the state that follows; none of them does I/O or reads
 * a clock. Times are monotonic, in ms.
 */
export interface QueueProgress {
  /** Every task up to this one was handed over, deferred or cancelled. */
  readonly handledSeq: number;
  /** There may be work above it, or work that failed. */
  readonly mayHaveWork: boolean;
  readonly hasSession: boolean;
  /** `preparing`: getting the next task ready, as for typing, which takes as long as it takes. */
  readonly phase: 'idle' | 'working' | 'preparing';
  /** When something last got on. */
  readonly progressAtMs: number;
}

export function newProgress(nowMs: number): QueueProgress {
  return { handledSeq: 0, mayHaveWork: true, hasSession: false, phase: 'working', progressAtMs: nowMs };
}

/** There is work up to this seq, or without one perhaps some. The same state when that was handled before. */
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

/** It goes on after a wait. */
export function afterRest(state: QueueProgress, nowMs: number): QueueProgress {
  return { ...state, phase: 'working', progressAtMs: isAtRest(state) ? nowMs : state.progressAtMs };
}

/** It begins to read what there is. */
export function onRead(state: QueueProgress): QueueProgress {
  return { ...state, mayHaveWork: false };
}

export function onPrepare(state: QueueProgress): QueueProgress {
  return { ...state, phase: 'preparing' };
}

/** The task is ready, or failed to get so. */
export function afterPrepare(state: QueueProgress): QueueProgress {
  return { ...state, phase: 'working' };
}

/** A task was attempted, with whatever outcome. */
export function afterAttempt(state: QueueProgress, nowMs: number): QueueProgress {
  return { ...state, progressAtMs: nowMs };
}

export function afterTask(state: QueueProgress, seq: number): QueueProgress {
  return { ...state, handledSeq: seq };
}

/** Something failed, or the session went: what was not handed over is read again. */
export function afterInterruption(state: QueueProgress): QueueProgress {
  return { ...state, mayHaveWork: true };
}

/** Nothing is left to do for now. */
export function onIdle(state: QueueProgress): QueueProgress {
  return { ...state, phase: 'idle' };
}

/** Whether there is something to do now; `hasDue`: a deferred task is due. */
export function hasWork(state: QueueProgress, hasDue: boolean): boolean {
  return state.hasSession && (state.mayHaveWork || hasDue);
}

/** The seq that is handled, while it knows of nothing to do; null while it is at work or has no session. */
export function idleAt(state: QueueProgress): number | null {
  return state.hasSession && isAtRest(state) ? state.handledSeq : null;
}

/** For how long it has known of work and got nowhere. */
export function lateMs(state: QueueProgress, nowMs: number): number {
  return state.phase === 'preparing' || isAtRest(state) ? 0 : nowMs - state.progressAtMs;
}

function isAtRest(state: QueueProgress): boolean {
  return state.phase === 'idle' && !state.mayHaveWork;
}
