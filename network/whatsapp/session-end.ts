/** How a session ends, which it does once, whoever ends it. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type DisconnectReason,
  type NetworkSession,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import type { Context } from './session-context.ts';

const CLOSE_MS = 5_000;

/** The socket's own event. Its listener opens and decodes what the network sends, before anything is made of it. */
const FRAMES = 'message';

/**
 * Something of the library failed, and nobody heard of it. A stanza that one of its listeners cannot handle costs
 * itself alone. A frame that cannot be read ends the session (but see `unreadable.ts`), as does what leaves the library
 * in a state that nobody knows: the network tells the next session what it has not heard from us.
 */
export function onUnheard(session: Context, err: unknown, event: string | symbol | null): void {
  const { deps, request, connection } = session;
  const about = { instance_id: request.instanceId };
  deps.log.debug({ ...about, err, event: event?.toString() }, 'what the network sent could not be handled');
  if ((event !== null && event !== FRAMES) || session.phase === 'ended') return;
  if (event === FRAMES && deps.unreadable.passesOver(request.instanceId, err)) {
    deps.log.warn(about, 'the network sent a stanza that cannot be read; it is passed over');
    // The library has stopped at it; frames that came with it are still to be read.
    connection?.socket.ws.emit(FRAMES, Buffer.alloc(0));
    return;
  }
  const what = event === FRAMES ? 'cannot be read' : 'this version cannot handle';
  const error = `the network sent something that ${what}; the connection is made anew`;
  deps.log.warn(about, error);
  end(session, 'failed', error);
}

/** Something could not be stored: what the network has not heard from us, it tells the next session. */
export function fail(session: Context, err: unknown): void {
  session.deps.log.warn(
    { err, instance_id: session.request.instanceId },
    'keys could not be stored; closing the session',
  );
  end(session, 'connection_lost', 'the keys of the session could not be stored');
}

export function end(session: Context, reason: DisconnectReason, error?: string): void {
  if (session.phase === 'ended') return;
  session.phase = 'ended';
  const { connection, waiting } = session;
  connection?.gate.close();
  for (const { reject } of waiting.values())
    reject(new SendUnavailable('the session ended before the network answered'));
  waiting.clear();
  void session.arrivals.stop();
  void session.receipts.stop();
  void connection?.socket.end(undefined);
  void session.fetchRoute.destroy().catch(() => undefined);
  // Whoever hears of it may open the next session at once.
  void Promise.resolve(connection?.keys.close()).then(() => {
    session.sink.disconnected(reason, error);
    session.told.resolve();
  });
}

export async function closeGently(session: Context): Promise<void> {
  if (session.phase === 'ended') return session.told.promise;
  session.phase = 'closing';
  // What the owner is recording right now is still recorded.
  const recorded = Promise.all([session.arrivals.stop(), session.receipts.stop()]);
  await Promise.race([recorded, delay(CLOSE_MS, undefined, { ref: false })]);
  end(session, 'closed');
  await session.told.promise;
}

/** One that never began. */
export function endedSession(): NetworkSession {
  const over = async () => {
    throw new SendUnavailable('the session is not paired');
  };
  return {
    send: over,
    act: over,
    download: over,
    typing: async () => undefined,
    markRead: over,
    requestPairingCode: over,
    logout: async () => undefined,
    close: async () => undefined,
  };
}
