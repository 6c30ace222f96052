/** Decides the next state of a session and its actions, without I/O or a clock. */
import { type DisconnectReason, SendDeferred, SendRefused } from '@posthorn/core/network/driver.ts';
import type { ByeReason, ClientFrame, SendItem } from '../frames.ts';

/** `opening`: before the welcome. `closing`: we end it. `ended` is final. */
export interface SessionState {
  readonly phase: 'opening' | 'live' | 'closing' | 'ended';
  /** Why it ended. */
  readonly reason: DisconnectReason | null;
  /** Whether anything was received since the last ping. */
  readonly isHeard: boolean;
}

export const OPENING: SessionState = { phase: 'opening', reason: null, isHeard: true };

/** The network has accepted the hello; a session we are closing stays closing. */
export function afterWelcome(state: SessionState): SessionState {
  return state.phase === 'opening' ? { ...state, phase: 'live' } : state;
}

/** From here on nothing is sent; events in progress are still acknowledged. */
export function onClose(state: SessionState): SessionState {
  return state.phase === 'ended' ? state : { ...state, phase: 'closing' };
}

/** Returns the same state if it had already ended: the first reason stays. */
export function afterEnd(state: SessionState, reason: DisconnectReason): SessionState {
  return state.phase === 'ended' ? state : { ...state, phase: 'ended', reason };
}

/** A frame or a pong has arrived. */
export function afterHearing(state: SessionState): SessionState {
  return state.isHeard ? state : { ...state, isHeard: true };
}

/** Called at each heartbeat: cuts a connection that received nothing since the last one. */
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

/** The reason reported to the owner for a goodbye of the network. */
export function reasonOf(bye: ByeReason): DisconnectReason {
  return REASONS[bye];
}

/** Refusals by a device that may succeed later. */
const DEFERRED: ReadonlySet<string> = new Set(['forward_unavailable']);

/** The outcome of a send: when the network took it, or why it did not. An invalid time is replaced by now. */
export function outcomeOf(atMs: number, reason: string | undefined, now: () => Date): Date | Error {
  if (reason !== undefined) return DEFERRED.has(reason) ? new SendDeferred(reason) : new SendRefused(reason);
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? now() : date;
}

/** Gathers the output of one tick into one frame. */
export interface OutgoingFlow {
  send(item: SendItem): void;
  ack(seq: number): void;
  /** Takes the gathered output; null if there is none. */
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
