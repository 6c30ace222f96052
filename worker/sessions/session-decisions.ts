/** Decides the next step of a session from known state alone, without I/O or a clock. */
import type { SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import type { TransitionFields } from '@posthorn/core/instances/transition-instance.ts';
import type { DisconnectReason } from '@posthorn/core/network/driver.ts';

/** If the connection comes back within this time, users are not told that it was lost. */
export const GRACE_MS = 10_000;
const BACK_OFF_MS = [0, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A session connected for this long was healthy. */
const STEADY_MS = 60_000;
/** Retry interval for a throttled account. */
const HARD_PAUSED_RETRY_MS = 60_000;
/** Within this time after a take-over, the previous owner's last login may still reach the network. */
const TAKEOVER_MS = 10_000;
/** A network that refuses our version does so until someone installs a newer one. */
const VERSION_RETRY_MS = 60 * 60_000;

/** A transition of the instance to record. */
export interface PlannedTransition {
  to: SessionRow['state'];
  reason: string | null;
  fields: TransitionFields;
  forgets?: Buffer | null;
  generation?: number;
}

/** How to bring an instance to its row's desired state. */
export type SettlePlan =
  | { to: 'connected'; closes: boolean; opens: boolean }
  | { to: 'logged_out' }
  | { to: 'disconnected'; transition: PlannedTransition | null };

/** The current session, and the last try to open one. */
export interface CurrentSession {
  isOpen: boolean;
  /** The row's generation at the last try. A newer one means that a person has made a request since. */
  triedGeneration: number;
  /** The next try waits for its time or its turn. */
  isRetrying: boolean;
}

export function planSettling(
  row: Pick<SessionRow, 'desired' | 'state' | 'hold' | 'generation'>,
  held: CurrentSession,
): SettlePlan {
  if (row.desired === 'connected') {
    const isAsked = held.triedGeneration !== row.generation;
    // A person's request does not wait for the next retry.
    const opens = isAsked || (!held.isOpen && !held.isRetrying);
    return { to: 'connected', closes: held.isOpen && isAsked, opens };
  }
  if (row.desired === 'logged_out') return { to: 'logged_out' };
  // A throttled instance moves as well: nobody looks at it any more, and it could never be connected again.
  const moves = row.state === 'PAIRING' || row.state === 'CONNECTED' || row.state === 'HARD_PAUSED';
  const transition = { to: 'DISCONNECTED', reason: row.hold ?? 'requested', fields: {} } as const;
  return { to: 'disconnected', transition: moves ? transition : null };
}

/** The next steps after a session has ended. */
export interface AfterEnd {
  transition?: PlannedTransition;
  /** The network ended the pairing. */
  forgetsPairing?: true;
  /** Opens again after this time, or after the back-off's. */
  retry?: number | 'back_off';
  /**
   * `starts`: users learn of the loss only if the connection does not come back soon. `ends`: stops that
   * wait.
   */
  grace: 'starts' | 'goes_on' | 'ends';
}

/** `hasRivalOwner`: the other login may be the previous owner's ({@link mayHaveRivalOwner}). */
export function afterEnd(
  reason: DisconnectReason,
  state: SessionRow['state'],
  hasRivalOwner = false,
): AfterEnd {
  if (reason === 'replaced' && hasRivalOwner) return afterEnd('connection_lost', state);
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
    case 'credentials_refused':
      // No try of ours changes that. The credentials stay: a person gives others, or connects once they hold again.
      return {
        grace: 'ends',
        transition: { to: 'DISCONNECTED', reason, fields: { wanted: 'disconnected' } },
      };
    case 'replaced': {
      // Another login uses the account, and opening again would end that one. No process opens it until a
      // person connects it.
      const fields = {
        last_error: 'another session of this account was opened; connect again when that one has stopped',
        wanted: 'disconnected',
      } as const;
      return { grace: 'ends', transition: { to: 'DISCONNECTED', reason, fields } };
    }
  }
}

/**
 * Whether the previous owner of the instance may be about to log in, or may just have done so. An owner that
 * lost its shard without noticing completes a login that was under way, and the network then ends ours.
 * That happens once, since it notices next.
 */
export function mayHaveRivalOwner(owner: {
  afterCrash: boolean;
  openings: number;
  ownedMs: number;
}): boolean {
  return owner.afterCrash && owner.openings === 1 && owner.ownedMs < TAKEOVER_MS;
}

/**
 * Whether users see why the session ended. A cut is hidden from them as long as they see the instance as
 * connected.
 */
export function isErrorTold(reason: DisconnectReason, state: SessionRow['state']): boolean {
  if (reason === 'failed' || reason === 'credentials_refused') return true;
  return reason === 'connection_lost' && state !== 'CONNECTED';
}

/**
 * Whether the count of failed tries starts again. Having been connected is enough, unless the cause may end
 * the next session right after it connects.
 */
export function startsAnew(reason: DisconnectReason, connectedAt: Date | null, now: Date): boolean {
  if (connectedAt === null) return false;
  return reason !== 'failed' || now.getTime() - connectedAt.getTime() >= STEADY_MS;
}

/**
 * The transition that reports the end of a pairing; null if there is nothing left to report. `isAsked`: a user asked for it, and may
 * have asked for something else or given other credentials while it went on. That stays.
 */
export function planForgetting(
  row: Pick<SessionRow, 'credentials' | 'state'>,
  { isAsked }: { isAsked: boolean },
): PlannedTransition | null {
  if (row.credentials === null && row.state === 'DISCONNECTED') return null;
  const pairing = { credentials: null, phone: null, jid: null, push_name: null };
  const ended = { to: 'DISCONNECTED', reason: 'logged_out' } as const;
  if (isAsked) return { ...ended, fields: pairing, forgets: row.credentials };
  return { ...ended, fields: { ...pairing, wanted: 'logged_out' } };
}

/** The wait before the next try, after `failures` failures in a row. */
export function backOffMs(failures: number): number {
  return BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)]!;
}

/** Spreads tries that failed at the same moment by a quarter; `random` in [0, 1). */
export function withJitter(ms: number, random: number): number {
  return ms * (0.75 + random / 2);
}

/** Whether `other` has a request that `row` does not have. */
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
