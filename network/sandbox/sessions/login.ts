/** Handles a driver's hello: identifies the account and decides whether it may log in. */
import type { ClientFrame } from '../frames.ts';
import { cutSession, endSession, sendFrame } from '../state/account-session.ts';
import type { Account, Session } from '../state/model.ts';
import type { World } from '../state/world.ts';
import type { PairingDesk } from './pairing.ts';

type Hello = Extract<ClientFrame, { t: 'hello' }>;

export function greet(world: World, desk: PairingDesk, session: Session, hello: Hello): void {
  session.instanceId = hello.instance;
  session.epoch = hello.epoch;
  const account = hello.token === undefined ? null : (world.accountsByToken.get(hello.token) ?? null);
  const refusal = world.faults.onLogin({ instanceId: hello.instance, account });
  if (refusal === 'offline') {
    cutSession(session);
  } else if (refusal) {
    endSession(world, session, refusal);
  } else if (hello.token === undefined) {
    session.phase = 'pairing';
    session.offer = desk.offer(session);
  } else if (account) {
    logIn(world, session, account);
  } else {
    endSession(world, session, 'logged_out');
  }
}

/** The driver has stored its credentials. */
export function confirmPairing(world: World, session: Session): void {
  const { account } = session;
  if (session.phase !== 'confirming' || !account) return;
  // The phone may have been paired elsewhere or unpaired meanwhile.
  if (account.phone.account === account) logIn(world, session, account);
  else endSession(world, session, 'logged_out');
}

/**
 * Makes this the account's one session and kicks an existing one. A login with an older epoch comes from a
 * worker that lost its lease, and is refused.
 */
function logIn(world: World, session: Session, account: Account): void {
  if (session.epoch < account.epoch) {
    account.stats.staleLogins++;
    endSession(world, session, 'stale_epoch');
    return;
  }
  if (session.epoch > account.epoch) {
    account.epoch = session.epoch;
    world.journal.append(['epoch', account.phone.phone, account.epoch]);
  }
  session.account = account;
  account.connections.add(session);
  // Counted before the kick: a lease must prevent overlapping logins, which show as 2.
  const { stats } = account;
  stats.logins++;
  const former = account.session;
  stats.maxLive = Math.max(stats.maxLive, former ? 2 : 1);
  if (former) {
    stats.kicks++;
    endSession(world, former, 'replaced');
  }
  account.session = session;
  session.phase = 'live';
  session.sentSeq = account.events.ackedSeq();
  sendFrame(session, { t: 'welcome' });
  world.wake(session);
}
