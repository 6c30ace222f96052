/** The recipients of a message, and the message that a reference means. */
import { isGroupJid, isUserJid, type Jid, phoneOf, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { Message, MessageStatus, Phone } from './model.ts';
import { findPhone, phoneForJid, sharedJid } from './phones.ts';
import type { World } from './world.ts';

/** True for a chat of more than two: each recipient then gets, reads and plays it by itself. */
export function isShared(to: Jid): boolean {
  return to === STATUS_BROADCAST || isGroupJid(to);
}

export function recipientsOf(world: World, message: Message): Phone[] {
  const { to, from } = message;
  if (to === STATUS_BROADCAST) return audienceOf(world, from);
  if (!isGroupJid(to)) return [phoneForJid(world, to)];
  return [...(world.groups.get(to)?.participants ?? [])].filter((phone) => phone !== from);
}

/** Contacts that the author lets see it and that have saved the author too (STA-10). */
function audienceOf(world: World, author: Phone): Phone[] {
  const { type, list } = author.statusPrivacy;
  return [...author.contacts].flatMap((number) => {
    if (type === 'blacklist' && list.includes(number)) return [];
    if (type === 'whitelist' && !list.includes(number)) return [];
    const phone = world.phones.get(number);
    if (!phone || phone === author || !phone.contacts.has(author.phone)) return [];
    return phone.blocked.has(author.phone) ? [] : [phone];
  });
}

/** The chat in which `viewer` sees a message. */
export function chatOf(viewer: Phone, message: Message): Jid {
  if (isShared(message.to) || message.from === viewer) return message.to;
  return message.from.jid;
}

/** The address under which its author appears in that chat. */
export function authorOf({ from, to }: Message): Jid {
  return isShared(to) ? sharedJid(from) : from.jid;
}

/** How far a message got with one phone. */
export function reachedBy(message: Message, phone: Phone): MessageStatus {
  return message.reached ? (message.reached.get(phone) ?? 'sent') : message.status;
}

/**
 * True when this phone has the message: it wrote it, or it arrived there. An instance may refer to a message that it
 * has recorded and whose ack is still on its way, so an instance has every message that was sent to it.
 */
export function isShownOn(phone: Phone, message: Message): boolean {
  if (message.from === phone) return true;
  if (phone.account) return message.to === phone.jid || isShared(message.to);
  if (message.reached) return message.reached.has(phone);
  return message.to === phone.jid && message.status !== 'sent';
}

/** How a message is named within its chat; without a sender, everybody of the chat may have written it. */
export interface Target {
  id: string;
  from_me?: boolean | undefined;
  sender?: string | undefined;
}

/** The message that `viewer` means by `target` in `chat`, if that phone has it. */
export function findTarget(world: World, viewer: Phone, chat: Jid, target: Target): Message | null {
  for (const author of authorsOf(world, viewer, chat, target)) {
    const found = author.sent.get(target.id);
    if (found && chatOf(viewer, found) === chat && isShownOn(viewer, found)) return found;
  }
  return null;
}

function authorsOf(world: World, viewer: Phone, chat: Jid, target: Target): Iterable<Phone> {
  if (target.from_me) return [viewer];
  const sender = target.sender ? findPhone(world, target.sender) : null;
  if (sender) return [sender];
  if (isUserJid(chat)) {
    const peer = world.phones.get(phoneOf(chat));
    return peer ? [viewer, peer] : [viewer];
  }
  if (chat === STATUS_BROADCAST) return world.phones.values();
  return world.groups.get(chat)?.participants ?? [];
}
