/** Where a session stands and what follows from what it hears: decisions alone, without I/O or a clock. */
import { type DisconnectReason, SendDeferred, SendRefused } from '@posthorn/core/network/driver.ts';
import type { ByeReason, ClientFrame, SendItem } from '../frames.ts';

/** `opening`: not welcomed yet. `closing`: we end it. Once ended it stays so. */
export interface SessionState {
  readonly phase: 'opening' | 'live' | 'closing' | 'ended';
  /** Why it has ended. */
  readonly reason: DisconnectReason | null;
  /** Something was heard since the last ping. */
  readonly isHeard: boolean;
}

export const OPENING: SessionState = { phase: 'opening', reason: null, isHeard: true };

/** The network has taken the hello; one that we are closing is not opened by it. */
export function afterWelcome(state: SessionState): SessionState {
  return state.phase === 'opening' ? { ...state, phase: 'live' } : state;
}

/** From here on nothing is sent any more; what is under way is still acknowledged. */
export function onClose(state: SessionState): SessionState {
  return state.phase === 'ended' ? state : { ...state, phase: 'closing' };
}

/** The same state when it had ended before: the first reason stands. */
export function afterEnd(state: SessionState, reason: DisconnectReason): SessionState {
  return state.phase === 'ended' ? state : { ...state, phase: 'ended', reason };
}

/** A frame or a pong has come. */
export function afterHearing(state: SessionState): SessionState {
  return state.isHeard ? state : { ...state, isHeard: true };
}

/** The time of a heartbeat: a connection on which nothing was heard since the last one is cut. */
export function afterHeartbeat(state: SessionState): { state: SessionState; does: 'ping' | 'cut' } {
  return state.isHeard ? { state: { ...state, isHeard: false }, does: 'ping' } : { state, does: 'cut' };
}

const REASONS: Record<ByeReason, DisconnectReason> = {
  replaced: 'replaced',
  stale_epoch: 'replaced',
  logged_out: 'logged_out',
  banned: 'banned',
  hard_paused: 'hard_paused',
  protocol_error: 'connection_lost',
  shutting_down: 'connection_lost',
};

/** What the owner is told of a goodbye of the network. */
export function reasonOf(bye: ByeReason): DisconnectReason {
  return REASONS[bye];
}

/** Refusals of a device that may have what is needed later. */
const DEFERRED: ReadonlySet<string> = new Set(['forward_unavailable']);

/** What a send comes to: when the network took it, or why it did not. A number that is no time stands for now. */
export function outcomeOf(atMs: number, reason: string | undefined, now: () => Date): Date | Error {
  if (reason !== undefined) return DEFERRED.has(reason) ? new SendDeferred(reason) : new SendRefused(reason);
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? now() : date;
}

/** Gathers what one tick has to say, which goes out in one frame. */
export interface OutgoingFlow {
  send(item: SendItem): void;
  ack(seq: number): void;
  /** What was gathered; null when that is nothing. */
  take(): Extract<ClientFrame, { t: 'flow' }> | null;
}

export function createOutgoingFlow(): OutgoingFlow {
  let sends: SendItem[] = [];
  let ack: number | undefined;
  return {
    send: (item) => void sends.push(item),
    ack(seq) {
      ack = seq;
    },
    take() {
      if (sends.length === 0 && ack === undefined) return null;
      const flow = { t: 'flow' as const, sends: sends.length > 0 ? sends : undefined, ack };
      sends = [];
      ack = undefined;
      return flow;
    },
  };
}
