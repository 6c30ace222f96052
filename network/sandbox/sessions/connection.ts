/** Reads the frames of one driver connection and dispatches each to its handler. */
import { phoneOf } from '@posthorn/contract/jid.ts';
import type { WebSocket } from 'ws';
import { type ClientFrame, clientFrame } from '../frames.ts';
import { createSession, cutSession, endSession, leave } from '../state/account-session.ts';
import { arriveAtInstance } from '../state/deliver.ts';
import type { Session } from '../state/model.ts';
import { phoneFor } from '../state/phones.ts';
import type { World } from '../state/world.ts';
import { answerCall } from './answer-call.ts';
import { confirmPairing, greet } from './login.ts';
import type { PairingDesk } from './pairing.ts';
import { acceptSend } from './receive-send.ts';

const HELLO_TIMEOUT_MS = 10_000;

/** Serves a connection until it closes; calls `onClosed` once. */
export function serveConnection(
  deps: { world: World; desk: PairingDesk },
  socket: WebSocket,
  onClosed: (session: Session) => void,
): Session {
  const { world, desk } = deps;
  const session = createSession(socket);
  const greeting = setTimeout(() => cutSession(session), HELLO_TIMEOUT_MS);
  socket.on('message', (data) => {
    if (session.phase === 'ended') return;
    session.heard = true;
    const frame = parseFrame(data);
    const isHello = frame?.t === 'hello';
    if (!frame || isHello !== (session.phase === 'greeting')) {
      endSession(world, session, 'protocol_error');
      return;
    }
    if (isHello) clearTimeout(greeting);
    handleFrame(world, desk, session, frame);
  });
  socket.on('pong', () => {
    session.heard = true;
  });
  socket.on('error', (error) => world.log.debug({ err: error }, 'sandbox connection failed'));
  socket.on('close', () => {
    clearTimeout(greeting);
    leave(session);
    session.account?.connections.delete(session);
    onClosed(session);
  });
  return session;
}

function parseFrame(data: unknown): ClientFrame | null {
  try {
    return clientFrame.parse(JSON.parse(String(data)));
  } catch {
    return null;
  }
}

function handleFrame(world: World, desk: PairingDesk, session: Session, frame: ClientFrame): void {
  switch (frame.t) {
    case 'flow':
      if (frame.ack !== undefined) acknowledge(world, session, frame.ack);
      for (const item of frame.sends ?? []) acceptSend(world, session, item);
      return;
    case 'hello':
      greet(world, desk, session, frame);
      return;
    case 'paired_ok':
      confirmPairing(world, session);
      return;
    case 'typing':
      showTyping(world, session, frame.chat);
      return;
    case 'call':
      answerCall(world, session, frame);
      return;
  }
}

/**
 * The driver's owner has recorded the events up to `seq`: drops them and marks their messages as delivered.
 */
function acknowledge(world: World, session: Session, seq: number) {
  const { account } = session;
  if (session.phase !== 'live' || !account) return;
  // Never beyond the last event sent: a wrong number must not drop events unseen.
  const acked = account.events.ack(Math.min(seq, session.sentSeq));
  if (acked.length === 0) return;
  world.journal.append(['acked', account.phone.phone, account.events.ackedSeq()]);
  for (const { message, json } of acked) {
    session.sentChars -= json.length;
    if (message) arriveAtInstance(world, account.phone, message);
  }
  // The window has room again.
  if (account.events.lastSeq() > session.sentSeq) world.wake(session);
}

function showTyping(world: World, session: Session, chat: string) {
  const phone = phoneOf(chat);
  if (session.phase !== 'live' || !session.account || !phone) return;
  phoneFor(world, phone).typing.set(session.account.phone.jid, Date.now());
}
