/**
 * Whether the account may write to new people. The network refuses a message with 463 when it may not, but also when
 * a token of that one contact is missing, so it is asked which of the two it is.
 */
import type { LibraryEvents } from './library-types.ts';
import type { WhatsAppContext } from './session-context.ts';

/** A limited account has many messages refused in a row: one question answers for all of them. */
const ASKED_AGAIN_MS = 60_000;
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The network has refused a message with 463. */
export function onLimited(session: WhatsAppContext): void {
  const nowMs = session.deps.clock.now().getTime();
  if (nowMs - session.timeLock.askedAtMs < ASKED_AGAIN_MS) return;
  session.timeLock.askedAtMs = nowMs;
  session.timeLock.asking = ask(session).catch(() => onTimeLock(session, { isActive: true }));
}

/** Whether the account is limited, after a message was refused with 463; also if the network does not say. */
export async function isLimited({ timeLock }: WhatsAppContext): Promise<boolean> {
  await timeLock.asking;
  return timeLock.isActive;
}

/** The network says whether the account is limited, when asked and by itself. */
export function onTimeLock(
  session: WhatsAppContext,
  { isActive = false, timeEnforcementEnds: ends }: NonNullable<TimeLock>,
): void {
  const { timeLock, deps } = session;
  clearTimeout(timeLock.timer);
  if (isActive && ends) {
    const leftMs = ends.getTime() - deps.clock.now().getTime();
    timeLock.timer = setTimeout(
      () => void ask(session).catch(() => undefined),
      Math.min(Math.max(leftMs, ASKED_AGAIN_MS), TIMER_MAX_MS),
    ).unref();
  }
  if (isActive === timeLock.isActive) return;
  timeLock.isActive = isActive;
  session.sink.restricted(isActive ? 'new_chats_limited' : null);
}

type TimeLock = LibraryEvents['connection.update']['reachoutTimeLock'];

/** The library tells the answer as it tells what the network says by itself. */
async function ask({ phase, connection }: WhatsAppContext): Promise<void> {
  if (phase === 'live') await connection?.socket.fetchAccountReachoutTimelock();
}
