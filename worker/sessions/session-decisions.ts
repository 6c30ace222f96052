/** What a session does at which moment: decisions alone, made of what is known, without I/O and without a clock. */
import type { SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import type { TransitionFields } from '@posthorn/core/instances/transition-instance.ts';
import type { DisconnectReason } from '@posthorn/core/network/driver.ts';

const BACK_OFF_MS = [0, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A session that was connected for so long was not in trouble. */
const STEADY_MS = 60_000;
/** A throttled account is looked at this often. */
const HARD_PAUSED_RETRY_MS = 60_000;
/** A network that refuses our version says so until somebody installs a newer one. */
const VERSION_RETRY_MS = 60 * 60_000;

/** A transition of the instance that is to be recorded. */
export interface PlannedTransition {
  to: SessionRow['state'];
  reason: string | null;
  fields: TransitionFields;
}

/** How to get an instance to where its row wants it. */
export type SettlePlan =
  | { to: 'connected'; closes: boolean; opens: boolean }
  | { to: 'logged_out' }
  | { to: 'disconnected'; transition: PlannedTransition | null };

/** The session that is held now, and the last try to open one. */
export interface HeldSession {
  isOpen: boolean;
  /** The row's generation at the last try. A newer one means that a person has asked since. */
  triedGeneration: number;
  /** The next try waits for its time, or for its turn. */
  isRetrying: boolean;
}

export function planSettling(
  row: Pick<SessionRow, 'desired' | 'state' | 'hold' | 'generation'>,
  held: HeldSession,
): SettlePlan {
  if (row.desired === 'connected') {
    const isAsked = held.triedGeneration !== row.generation;
    // A person who asks does not wait for the time of the next try.
    const opens = isAsked || (!held.isOpen && !held.isRetrying);
    return { to: 'connected', closes: held.isOpen && isAsked, opens };
  }
  if (row.desired === 'logged_out') return { to: 'logged_out' };
  const isUp = row.state === 'PAIRING' || row.state === 'CONNECTED';
  const transition = { to: 'DISCONNECTED', reason: row.hold ?? 'requested', fields: {} } as const;
  return { to: 'disconnected', transition: isUp ? transition : null };
}

/** What follows when a session has ended. */
export interface AfterEnd {
  transition?: PlannedTransition;
  /** The network ended the pairing. */
  forgetsPairing?: true;
  /** Opens again after this time, or after that of the back-off. */
  retry?: number | 'back_off';
  /** Users are told that it is away only if it does not come back soon. Else a wait for that ends. */
  grace: 'starts' | 'goes_on' | 'ends';
}

export function afterEnd(reason: DisconnectReason, state: SessionRow['state']): AfterEnd {
  switch (reason) {
    case 'closed':
      return { grace: 'goes_on' };
    case 'connection_lost':
    case 'failed':
      return { grace: state === 'CONNECTED' ? 'starts' : 'goes_on', retry: 'back_off' };
    case 'logged_out':
      return { grace: 'ends', forgetsPairing: true };
    case 'banned':
      return { grace: 'ends', transition: { to: 'BANNED', reason, fields: { restriction: 'banned' } } };
    case 'hard_paused':
      return {
        grace: 'ends',
        transition: { to: 'HARD_PAUSED', reason, fields: { restriction: 'hard_paused' } },
        retry: HARD_PAUSED_RETRY_MS,
      };
    case 'version_refused': {
      const fields = { last_error: 'the network no longer takes this version of the driver' };
      return {
        grace: 'ends',
        transition: { to: 'DISCONNECTED', reason, fields },
        retry: VERSION_RETRY_MS,
      };
    }
    case 'replaced': {
      // Another login has the account, and opening again would end that one in turn. It stays away, in every
      // process, until a person connects it.
      const fields = {
        last_error: 'another session of this account was opened; connect again when that one has stopped',
        wanted: 'disconnected',
      } as const;
      return { grace: 'ends', transition: { to: 'DISCONNECTED', reason, fields } };
    }
  }
}

/** Whether users are told why it ended. While they are told that it is connected, a cut is none that they need to know of. */
export function isErrorTold(reason: DisconnectReason, state: SessionRow['state']): boolean {
  return reason === 'failed' || (reason === 'connection_lost' && state !== 'CONNECTED');
}

/**
 * Whether the tries before count no more. Having been connected is enough, unless what ended the session may end the
 * next one as soon as it is connected.
 */
export function startsAnew(reason: DisconnectReason, connectedAt: Date | null, now: Date): boolean {
  if (connectedAt === null) return false;
  return reason !== 'failed' || now.getTime() - connectedAt.getTime() >= STEADY_MS;
}

/** How the end of a pairing is told; null where nothing of it is left to tell. */
export function planForgetting(row: Pick<SessionRow, 'credentials' | 'state'>): PlannedTransition | null {
  if (row.credentials === null && row.state === 'DISCONNECTED') return null;
  const pairing = { credentials: null, phone: null, jid: null, push_name: null };
  return {
    to: 'DISCONNECTED',
    reason: 'logged_out',
    fields: { ...pairing, wanted: 'logged_out' },
  };
}

/** The wait before the next try, after so many that failed in a row. */
export function backOffMs(failures: number): number {
  return BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)]!;
}

/** Spreads the tries of many that failed in the same moment by a quarter; `random` in [0, 1). */
export function withJitter(ms: number, random: number): number {
  return ms * (0.75 + random / 2);
}

/** Whether `other` asks for something that `row` did not. */
export function asksForMore(
  row: Pick<SessionRow, 'desired' | 'generation' | 'codePhone' | 'settings'>,
  other: Pick<SessionRow, 'desired' | 'generation' | 'codePhone' | 'settings'>,
): boolean {
  return (
    other.desired !== row.desired ||
    other.generation !== row.generation ||
    other.codePhone !== row.codePhone ||
    JSON.stringify(other.settings) !== JSON.stringify(row.settings)
  );
}
