/** The errors of sends whose questions to the network failed. */
import { NotConnected, SendDeferred, SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import type { WhatsAppContext } from './session-context.ts';

/** The network answers no more questions for a while (`rate-overlimit`); who goes on asking waits longer. */
export const TOO_MANY_QUESTIONS = 429;
const ASKED_AGAIN_MS = 60_000;

/** The error of a send for which a question to the network failed. */
export function unanswered(session: WhatsAppContext, cause: unknown): Error {
  const asked = cause instanceof SendUnavailable ? cause.cause : cause;
  if ((asked as { data?: unknown } | null | undefined)?.data === TOO_MANY_QUESTIONS)
    return new SendDeferred('network_busy', { of: 'chat', forMs: ASKED_AGAIN_MS });
  return notNow(session, 'network_unavailable', cause);
}

/** The network's codes for a group that the account is not in, and for one that is gone. */
const NO_GROUP: ReadonlySet<unknown> = new Set([403, 404]);

/** The error of a send to a group for which the question about the group failed. */
export function unansweredOfGroup(session: WhatsAppContext, cause: unknown): Error {
  const { data } = (cause ?? {}) as { data?: unknown };
  return NO_GROUP.has(data) ? new SendRefused('group_not_found') : unanswered(session, cause);
}

/**
 * A question that a send depends on was not answered. If that is because the connection ends, what is behind it in
 * the window must not overtake it.
 */
export function notNow(session: WhatsAppContext, reason: string, cause?: unknown): Error {
  if (session.phase === 'live' && session.connection?.socket.ws.isOpen) return new SendDeferred(reason);
  return new NotConnected('the session ended before the message was encrypted', { cause });
}
