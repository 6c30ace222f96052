/** The history that a phone hands over when it is paired: its chats, its contacts and the messages that it shows. */
import { isGroupJid, type Jid, jidOfPhone, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { HistoryBody } from '../fact-frames.ts';
import { chatStatesOf, deviceFacts, savedName } from './device-state.ts';
import type { Account, Message, Phone } from './model.ts';
import { pushEvent } from './receipts.ts';
import { chatOf } from './recipients.ts';
import type { World } from './world.ts';

/** Messages of one part. */
const PART_MESSAGES = 200;

/** Tells a new pairing everything that the account's devices share, and then what was said before. */
export function handOverHistory(world: World, account: Account): void {
  const { phone } = account;
  for (const { at, ...fact } of deviceFacts(phone)) pushEvent(world, account, { k: 'fact', fact, at }, null);
  const past = phone.messages.filter((message) => message.to !== STATUS_BROADCAST);
  for (const batch of partsOf(world, phone, past)) {
    pushEvent(world, account, { k: 'history', batch, at: Date.now() }, null);
  }
}

/** None for a phone that has nothing to tell. */
function partsOf(world: World, phone: Phone, past: readonly Message[]): HistoryBody[] {
  const parts = Math.ceil(past.length / PART_MESSAGES);
  const chats = [...new Set(past.map((message) => chatOf(phone, message)))];
  return Array.from({ length: parts }, (_, nth) => ({
    chats: nth === 0 ? chats.map((chat) => pastChat(world, phone, chat)) : [],
    contacts: nth === 0 ? contactsOf(world, phone, chats) : [],
    lids: [],
    messages: past
      .slice(nth * PART_MESSAGES, (nth + 1) * PART_MESSAGES)
      .map((message) => pastMessage(phone, message)),
    position: nth,
    progress: Math.round(((nth + 1) / parts) * 100),
    isLast: nth === parts - 1,
  }));
}

function pastChat(world: World, phone: Phone, chat: Jid): HistoryBody['chats'][number] {
  const { archived, pinned, mutedUntil } = chatStatesOf(phone)[chat] ?? {};
  return {
    chat,
    name: world.groups.get(chat)?.name ?? '',
    unreadCount: [...phone.unread].filter((message) => chatOf(phone, message) === chat).length,
    archived: archived === true,
    pinned: pinned === true,
    mutedUntil: typeof mutedUntil === 'number' ? mutedUntil : null,
  };
}

function contactsOf(world: World, phone: Phone, chats: readonly Jid[]): HistoryBody['contacts'] {
  const numbers = new Set([...phone.contacts, ...chats.filter((chat) => !isGroupJid(chat)).map(numberOf)]);
  return [...numbers].map((number) => {
    const jid = jidOfPhone(number);
    return { jid, name: savedName(phone, jid), pushName: world.phones.get(number)?.name ?? '' };
  });
}

function numberOf(jid: Jid): string {
  return jid.slice(0, jid.indexOf('@'));
}

function pastMessage(phone: Phone, message: Message): HistoryBody['messages'][number] {
  const { media: _m, status: _s, ...content } = message.content as Record<string, unknown>;
  const isOwn = message.from === phone;
  return {
    id: message.id,
    chat: chatOf(phone, message),
    from: message.from.jid,
    from_me: isOwn,
    name: message.from.name,
    type: message.type,
    content: message.marks.deleted ? {} : content,
    ...(message.quotedId === undefined ? {} : { quoted: message.quotedId }),
    ...(isOwn ? { status: message.status } : {}),
    at: message.at,
  };
}
