/** Ends a session, exactly once. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type DisconnectReason,
  DRAIN_MS,
  type NetworkSession,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import type { Connection, WhatsAppContext } from './session-context.ts';

/** The socket's own event. Its listener decrypts and decodes the network's frames. */
const FRAMES = 'message';

/**
 * Handles an error that the library left unhandled. If a listener fails on a stanza, only that stanza is
 * lost. An unreadable frame (except as in `unreadable.ts`) ends the session, as does any failure that leaves
 * the library in an unknown state: the network repeats everything unacknowledged to the next session.
 */
export function onUnheard(session: WhatsAppContext, err: unknown, event: string | symbol | null): void {
  const { deps, request, connection } = session;
  const about = { instance_id: request.instanceId };
  deps.log.debug({ ...about, err, event: event?.toString() }, 'handling data from the network failed');
  if ((event !== null && event !== FRAMES) || session.phase === 'ended') return;
  if (event === FRAMES && deps.unreadable.passesOver(request.instanceId, err)) {
    deps.log.warn(about, 'skipped an unreadable stanza from the network');
    // The library stopped at this frame; the frames received with it still have to be read.
    connection?.socket.ws.emit(FRAMES, Buffer.alloc(0));
    return;
  }
  const what = event === FRAMES ? 'cannot be read' : 'this version cannot handle';
  const error = `the network sent something that ${what}; the connection is made anew`;
  deps.log.warn(about, error);
  end(session, 'failed', error);
}

/**
 * Ends the session because data could not be stored: the network repeats everything unacknowledged to the
 * next session.
 */
export function fail(session: WhatsAppContext, err: unknown): void {
  if (session.phase === 'ended') return;
  session.deps.log.warn(
    { err, instance_id: session.request.instanceId },
    'storing keys failed; closing the session',
  );
  end(session, 'connection_lost', 'the keys of the session could not be stored');
}

const NEWER = 'the WhatsApp network wants a newer version; it is tried again with that';

/** Ends a session whose version was refused. The next one may know a newer version. */
export async function afterRefusal(session: WhatsAppContext, { version, agent }: Connection): Promise<void> {
  if (await session.deps.versions.renew(version, agent)) end(session, 'connection_lost', NEWER);
  else end(session, 'version_refused');
}

export function end(session: WhatsAppContext, reason: DisconnectReason, error?: string): void {
  if (session.phase === 'ended') return;
  session.phase = 'ended';
  const { connection, request, answers } = session;
  clearTimeout(session.timeLock.timer);
  clearInterval(session.look);
  connection?.gate.close();
  answers.end();
  session.intake.close();
  void stopRecording(session);
  void connection?.socket.end(undefined);
  void session.fetchRoute.destroy().catch(() => undefined);
  // The owner may open the next session immediately.
  void Promise.all([connection?.keys.close(), request.keys.close()]).then(() => {
    session.sink.disconnected(reason, error);
    session.endReported.resolve();
  });
}

export async function closeGently(session: WhatsAppContext): Promise<void> {
  if (session.phase === 'ended') return session.endReported.promise;
  session.phase = 'closing';
  // Items the owner is recording now are still recorded.
  await Promise.race([stopRecording(session), delay(DRAIN_MS, undefined, { ref: false })]);
  end(session, 'closed');
  await session.endReported.promise;
}

async function stopRecording({ arrivals, messages, receipts }: WhatsAppContext): Promise<void> {
  await Promise.all([arrivals.stop(), messages.stop(), receipts.stop()]);
}

/** A session that never began. */
export function endedSession(): NetworkSession {
  const over = async () => {
    throw new SendUnavailable('the session is not paired');
  };
  return {
    send: over,
    act: over,
    download: over,
    typing: async () => undefined,
    recorded() {},
    markRead: over,
    requestPairingCode: over,
    logout: async () => undefined,
    close: async () => undefined,
  };
}
