/** One connection of a driver, and the ways it ends. */
import type { WebSocket } from 'ws';
import type { ByeReason, ServerFrame } from '../frames.ts';
import type { Session } from './model.ts';
import type { World } from './world.ts';

export function createSession(socket: WebSocket): Session {
  return {
    socket,
    phase: 'greeting',
    instanceId: '',
    epoch: 0,
    account: null,
    offer: null,
    swallowed: new Set(),
    acks: [],
    sentSeq: 0,
    sentChars: 0,
    cutAfterFlush: false,
    watched: new Set(),
    heard: true,
  };
}

export function sendFrame(session: Session, frame: ServerFrame): void {
  session.socket.send(JSON.stringify(frame));
}

/** Ends a session and says why; what it was owed by this tick goes out first. */
export function endSession(world: World, session: Session, reason: ByeReason): void {
  if (session.phase === 'ended') return;
  world.flush();
  leave(session);
  sendFrame(session, { t: 'bye', reason });
  session.socket.close(1000);
}

/** Cuts the connection without a closing frame, as a failing network does. */
export function cutSession(session: Session): void {
  leave(session);
  session.socket.terminate();
}

/** Takes a session out of service; its connection may still be closing. */
export function leave(session: Session): void {
  session.phase = 'ended';
  session.acks = [];
  session.offer?.withdraw();
  session.offer = null;
  if (session.account?.session !== session) return;
  session.account.session = null;
  session.account.available = null;
}
