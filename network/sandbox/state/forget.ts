/** Makes room: a test network runs for long, and keeps only the newest messages and those under way. */
import type { Kept, Message, Phone } from './model.ts';
import { defaultName } from './phones.ts';
import { isShared, reachedBy, recipientsOf } from './recipients.ts';
import type { World } from './world.ts';

export function createKept(limit: number): Kept {
  return { limit, messages: [], roomUntil: roomAbove(limit), forgotten: 0 };
}

function roomAbove(count: number): number {
  return Math.ceil(count * 1.1);
}

/** Holds a message that just came in, and lets go of the oldest when there are too many. */
export function keepMessage(world: World, message: Message): void {
  const { kept } = world;
  kept.messages.push(message);
  if (kept.messages.length < kept.roomUntil) return;
  forgetOldest(world, kept.messages.length - kept.limit);
  // Those under way may be more than there is room for: they are not looked at again for each new one.
  kept.roomUntil = roomAbove(Math.max(kept.limit, kept.messages.length));
}

function forgetOldest(world: World, count: number): void {
  const { kept, ledger } = world;
  const gone = new Set<Message>();
  const stays: Message[] = [];
  for (const message of kept.messages) {
    if (gone.size < count && !isUnderWay(world, message)) gone.add(message);
    else stays.push(message);
  }
  kept.messages = stays;
  kept.forgotten += gone.size;
  ledger.forget(gone);
  for (const phone of letGo(world, gone)) {
    phone.messages = phone.messages.filter((message) => !gone.has(message));
    if (isNobody(world, phone)) world.phones.delete(phone.phone);
  }
}

/** The phones that had one of them. */
function letGo(world: World, gone: ReadonlySet<Message>): Set<Phone> {
  const holders = new Set<Phone>();
  for (const message of gone) {
    message.from.sent.delete(message.id);
    const readers = [...recipientsOf(world, message), ...(message.reached?.keys() ?? [])];
    for (const phone of readers) phone.unread.delete(message);
    for (const phone of [message.from, ...readers]) holders.add(phone);
  }
  return holders;
}

/** Whether a recipient still has to get it. */
function isUnderWay(world: World, message: Message): boolean {
  return recipientsOf(world, message).some(
    (phone) =>
      phone !== message.from &&
      reachedBy(message, phone) === 'sent' &&
      (isShared(message.to) || !phone.blocked.has(message.from.phone)),
  );
}

/** A number that somebody wrote to once, and that nothing refers to any more. */
function isNobody(world: World, phone: Phone): boolean {
  const holdsNothing =
    !phone.account &&
    phone.messages.length === 0 &&
    [phone.sent, phone.unread, phone.contacts, phone.blocked].every(({ size }) => size === 0) &&
    phone.waiting.length === 0 &&
    phone.calls.length === 0;
  const isAsItCame =
    Object.keys(phone.own).length === 0 &&
    phone.name === defaultName(phone.phone) &&
    !phone.business &&
    phone.statusPrivacy.type === 'contacts' &&
    phone.about === '' &&
    !phone.picture &&
    !phone.lid &&
    !phone.storefront &&
    phone.device.facts.size === 0;
  return holdsNothing && isAsItCame && !isWatchedOrInGroup(world, phone);
}

function isWatchedOrInGroup(world: World, phone: Phone): boolean {
  for (const group of world.groups.values()) if (group.participants.has(phone)) return true;
  for (const { session } of world.accountsByToken.values()) if (session?.watched.has(phone)) return true;
  return false;
}
