import { type NetworkActions, SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import type { LibrarySocket } from '../library-types.ts';
import { TOO_MANY_QUESTIONS } from '../send-errors.ts';
import { requireLive, type WhatsAppContext } from '../session-context.ts';
import type { LACKS } from '../wire/outbound.ts';

/** The questions that this network answers. */
export type Answered = Exclude<keyof NetworkActions, (typeof LACKS)[number]>;

export type Actions = {
  [Op in Answered]: (
    session: WhatsAppContext,
    args: NetworkActions[Op]['args'],
  ) => Promise<NetworkActions[Op]['answer']>;
};

/**
 * Sends a query to the network. `reasons` maps the network's codes to the refusals of this query. Without an
 * answer, throws SendUnavailable.
 */
export async function ask<T>(
  session: WhatsAppContext,
  question: (socket: LibrarySocket) => Promise<T>,
  reasons: Readonly<Record<number, string>> = {},
): Promise<T> {
  const { socket } = requireLive(session);
  try {
    return await question(socket);
  } catch (cause) {
    const code = codeOf(cause);
    if (code === null) throw new SendUnavailable('the network did not answer', { cause });
    throw new SendRefused(reasons[code] ?? 'refused_by_network');
  }
}

const NO_KEY_YET = 'App state key not present';

/** The library ran out of time or had no connection, or the network answers nothing for a while. */
const NO_ANSWER: ReadonlySet<number> = new Set([408, 428, TOO_MANY_QUESTIONS]);

/** The code of the network's error element, which the library keeps in `data`. */
function codeOf(error: unknown): number | null {
  const { data, output, message } = (error ?? {}) as {
    data?: unknown;
    output?: { statusCode?: number };
    message?: string;
  };
  // The phone sends the key some moments after the pairing: the library refused this, not the network.
  if (message?.startsWith(NO_KEY_YET)) return null;
  const code = typeof data === 'number' ? data : output?.statusCode;
  return typeof code === 'number' && code >= 400 && code < 500 && !NO_ANSWER.has(code) ? code : null;
}
