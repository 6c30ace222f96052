import type { PausableConnection } from './intake.ts';
import type { WhatsAppContext } from './session-context.ts';

/**
 * The socket that a session reads now. The library listens for each answer under a name of its own. A login asks as
 * well: what the session before left over may be more than one holds, and its media waits for the login.
 */
export function pausableConnectionOf(
  session: () => Pick<WhatsAppContext, 'connection' | 'phase'>,
): PausableConnection {
  const socket = () => session().connection?.socket.ws;
  const isAnswer = (event: string | symbol) => typeof event === 'string' && event.startsWith('TAG:');
  return {
    pause: () => socket()?.socket?.pause(),
    resume: () => socket()?.socket?.resume(),
    isAsking: () => session().phase === 'opening' || socket()?.eventNames().some(isAnswer) === true,
  };
}
