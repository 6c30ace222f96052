/** Receipts for senders, and the queue through which an account gets every event. */
import type { EventBody } from '../frames.ts';
import type { Account, Message, MessageStatus, Phone } from './model.ts';
import { settingOf, sharedJid } from './phones.ts';
import type { World } from './world.ts';

const rank: Record<MessageStatus, number> = { sent: 0, delivered: 1, read: 2, played: 3 };

/** Moves a message forwards, never back: with `by`, and as a whole. */
export function advance(message: Message, status: MessageStatus, by: Phone): void {
  if (rank[status] > rank[message.status]) message.status = status;
  if (!message.reached) return;
  if (rank[status] > rank[message.reached.get(by) ?? 'sent']) message.reached.set(by, status);
}

/**
 * Records that `by` has received, read or played a message, and tells the instance whose account sent it. Only phones
 * with read receipts on report reading (EVT-4).
 */
export function recordReceipt(
  world: World,
  message: Message,
  kind: 'delivered' | 'read' | 'played',
  by: Phone,
): void {
  advance(message, kind, by);
  const account = message.from.account;
  const told = kind === 'delivered' || settingOf(world, by, 'read_receipts');
  if (account && told) {
    if (message.reached) tellLid(world, account, by);
    const who = message.reached ? sharedJid(by) : by.jid;
    pushEvent(world, account, { k: kind, id: message.id, chat: message.to, by: who, at: Date.now() }, null);
  } else {
    world.journal.append(['status', message.from.phone, message.id, kind, by.phone]);
  }
}

/** Stores an event for an account until its driver acks it; it goes out now if a session is there. */
export function pushEvent(world: World, account: Account, body: EventBody, message: Message | null): void {
  const seq = account.events.lastSeq() + 1;
  const json = JSON.stringify({ s: seq, ...body });
  account.events.push({ seq, json, message });
  world.journal.appendJson(`["event","${account.phone.phone}",${json}]`);
  if (account.session) world.wake(account.session);
}

/** Queues what a tester made up, unchecked: what an instance makes of a network that sends anything. */
export function pushRawEvent(world: World, account: Account, body: Record<string, unknown>): number {
  const seq = account.events.lastSeq() + 1;
  const json = JSON.stringify({ ...body, s: seq });
  account.events.push({ seq, json, message: null, raw: true });
  world.journal.appendJson(`["raw","${account.phone.phone}",${json}]`);
  if (account.session) world.wake(account.session);
  return seq;
}

/**
 * Tells an account once, before it hears of an anonymous id, whose id that is; nothing where the network does not tell
 * it.
 */
export function tellLid(world: World, account: Account, phone: Phone): void {
  const { lid } = phone;
  if (lid?.tell !== 'at_once' || account.toldLids.has(phone)) return;
  account.toldLids.add(phone);
  const fact = { kind: 'lid' as const, lid: lid.jid, phone: phone.phone };
  pushEvent(world, account, { k: 'fact', fact, at: Date.now() }, null);
}
