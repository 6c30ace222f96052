/** Ordering and cancelling faults: the immediate effects, besides those on later sends. */

import { cutSession, endSession } from '../state/account-session.ts';
import { unpairAccount } from '../state/accounts.ts';
import { catchUp } from '../state/change-phone.ts';
import type { Session } from '../state/model.ts';
import { accountRecord } from '../state/records.ts';
import type { World } from '../state/world.ts';
import type { FaultOrder } from './fault.ts';
import { type Fault, strikesSubject } from './fault-book.ts';

/** Puts a fault in force; returns it with the number of sessions it was injected into immediately. */
export function orderFault(
  world: World,
  sessions: Iterable<Session>,
  order: FaultOrder,
): { fault: Fault; injected: number } {
  const fault = world.faults.add(order);
  let injected = 0;
  for (const session of [...sessions]) {
    if (session.phase === 'ended' || !strikesSubject(order, session)) continue;
    if (!strikeNow(world, session, order)) continue;
    injected++;
    world.faults.countHit(fault);
  }
  const isOver =
    order.kind === 'logout' ||
    order.kind === 'forget_poll_secret' ||
    (order.kind === 'drop' && order.at === 'now');
  if (isOver) world.faults.remove((each) => each === fault);
  else if (order.duration_ms) {
    world.later(order.duration_ms, () => clearFaults(world, (each) => each === fault));
  }
  return { fault, injected };
}

/** Cancels faults; phones that were kept offline receive their waiting messages. */
export function clearFaults(world: World, matches: (fault: Fault) => boolean): number {
  const removed = world.faults.remove(matches);
  for (const { order } of removed) {
    const phone = order.kind === 'offline' && order.phone ? world.phones.get(order.phone) : undefined;
    if (phone) catchUp(world, phone);
  }
  return removed.length;
}

/** Whether the order affects a current session, not just its next send or login. */
function strikeNow(world: World, session: Session, order: FaultOrder): boolean {
  switch (order.kind) {
    case 'drop':
      if (order.at !== 'now') return false;
      cutSession(session);
      return true;
    case 'offline':
      cutSession(session);
      return true;
    case 'ban':
      endSession(world, session, 'banned');
      return true;
    case 'hard_pause':
      endSession(world, session, 'hard_paused');
      return true;
    case 'logout':
      if (!session.account) return false;
      unpairAccount(world, session.account);
      return true;
    case 'forget_poll_secret':
      if (!session.account) return false;
      // Include a poll made in this very millisecond.
      session.account.secretsSince = Date.now() + 1;
      world.journal.append(accountRecord(session.account));
      return true;
    case 'delay':
    case 'delay_answers':
    case 'silence':
    case 'refuse':
    case 'repeat_events':
    case 'expire_media':
    case 'break_media':
      return false;
  }
}
