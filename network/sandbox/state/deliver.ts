/** The pipeline of a message from the network to the phones it is for. */
import { randomBytes } from 'node:crypto';
import { jidOfPhone, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { families } from '../families/registry.ts';
import type { EventBody } from '../frames.ts';
import { keepMessage } from './forget.ts';
import { type Account, type Message, type Phone, unmarked } from './model.ts';
import { isOnline, phoneForJid, settingOf } from './phones.ts';
import { pushEvent, recordReceipt, tellLid } from './receipts.ts';
import { authorOf, chatOf, isShared, reachedBy, recipientsOf } from './recipients.ts';
import { messageRecord } from './records.ts';
import type { World } from './world.ts';

export interface NewMessage {
  id: string;
  from: Phone;
  to: string;
  type: string;
  content: Record<string, unknown>;
  quotedId?: string;
  automatic?: boolean;
  forwarded?: number;
}

/**
 * Takes a message into the network and sends it on its way. The same id of the same sender again is
 * the message that is already there: `repeated`, and nothing is sent. A string is why the network does not
 * take it.
 */
export function takeMessage(
  world: World,
  input: NewMessage,
  options: { ledger: boolean },
): { message: Message; repeated: boolean } | string {
  const known = input.from.sent.get(input.id);
  if (known) return { message: known, repeated: true };
  const { from } = input;
  // The phone's own string: one a chat instead of one a message.
  const to = isShared(input.to) ? input.to : phoneForJid(world, input.to).jid;
  const asked = { from, to, type: input.type, content: input.content, forwarded: input.forwarded ?? 0 };
  const entering = families.get(input.type)?.admit?.(world, asked) ?? asked;
  if (typeof entering === 'string') return entering;
  const message: Message = {
    id: input.id,
    from,
    to,
    type: entering.type,
    content: entering.content,
    quotedId: input.quotedId,
    at: Date.now(),
    seq: 0,
    timesSeen: 1,
    status: 'sent',
    reached: isShared(to) ? new Map() : null,
    forwarded: entering.forwarded,
    automatic: input.automatic ?? false,
    marks: unmarked,
  };
  from.sent.set(message.id, message);
  const { act } = familyOf(message);
  if (act) act(world, message);
  else from.messages.push(message);
  if (options.ledger) world.ledger.add(message);
  world.journal.append(messageRecord(message));
  if (!options.ledger) tellOwnDevices(world, message);
  for (const phone of recipientsOf(world, message)) deliver(world, phone, message);
  keepMessage(world, message);
  return { message, repeated: false };
}

function familyOf(message: Message) {
  const family = families.get(message.type);
  if (!family) throw new Error(`the sandbox took a message of the unknown type ${message.type}`);
  return family;
}

/** Brings a message to a phone: into its instance's queue, onto its screen, or into the waiting room. */
export function deliver(world: World, phone: Phone, message: Message): void {
  if (phone === message.from) {
    recordReceipt(world, message, 'delivered', phone);
    recordReceipt(world, message, 'read', phone);
  } else if (phone.blocked.has(message.from.phone) && !isShared(message.to)) {
    // Its sender sees it sent and never delivered, as on the real networks.
  } else if (phone.account) {
    pushMessage(world, phone, message);
  } else if (!isOnline(world, phone)) {
    phone.waiting.push(message);
  } else {
    const delayMs = settingOf(world, phone, 'delivery_delay_ms');
    if (delayMs === 0) arrive(world, phone, message);
    else world.later(delayMs, () => arriveLater(world, phone, message));
  }
}

/** Queues a message for the instance that holds this phone. It is delivered once its driver acks it. */
export function pushMessage(world: World, phone: Phone, message: Message): void {
  const { account } = phone;
  if (!account) return;
  if (isShared(message.to)) tellLid(world, account, message.from);
  const body = eventOf(world, message, account);
  if (body) pushEvent(world, account, body, message);
  else recordReceipt(world, message, 'delivered', phone);
}

/** Reports a message of an instance's own phone to the instance, before any receipt of it. */
function tellOwnDevices(world: World, message: Message): void {
  const { account } = message.from;
  if (!account) return;
  const body = eventOf(world, message, account);
  if (body?.k === 'message' || body?.k === 'edited' || body?.k === 'deleted')
    pushEvent(world, account, { ...body, from_me: true }, null);
}

/** The event by which an instance learns of a message; null for none. */
function eventOf(world: World, message: Message, account: Account): EventBody | null {
  const { tell } = familyOf(message);
  return tell ? tell(world, message, account) : messageEvent(message, account);
}

function messageEvent(message: Message, { phone }: Account): EventBody {
  const { id, type, content, quotedId: quoted, at, from, forwarded } = message;
  const { status, ...shown } = content as { status?: { id: string } };
  return {
    k: 'message',
    id,
    chat: chatOf(phone, message),
    from: authorOf(message),
    name: from.account?.pushName ?? from.name,
    type,
    content: shown,
    quoted,
    fwd: forwarded > 0 ? forwarded : undefined,
    status: status?.id,
    at,
  };
}

/** Called when the driver of an instance acked a message: its phone has it now. Once is enough. */
export function arriveAtInstance(world: World, phone: Phone, message: Message): void {
  if (reachedBy(message, phone) !== 'sent') return;
  show(phone, message);
  recordReceipt(world, message, 'delivered', phone);
}

/** Onto the screen; what only changes another message is not shown, and a status waits to be opened. */
function show(phone: Phone, message: Message) {
  if (familyOf(message).act) return;
  phone.messages.push(message);
  if (message.to !== STATUS_BROADCAST) phone.unread.add(message);
}

function arriveLater(world: World, phone: Phone, message: Message) {
  // Meanwhile it may have been paired or gone offline: then it goes that way.
  if (phone.account) pushMessage(world, phone, message);
  else if (isOnline(world, phone)) arrive(world, phone, message);
  else phone.waiting.push(message);
}

function arrive(world: World, phone: Phone, message: Message) {
  show(phone, message);
  recordReceipt(world, message, 'delivered', phone);
  if (!phone.unread.has(message)) return;
  if (settingOf(world, phone, 'auto_read')) scheduleRead(world, phone, message);
  else answer(world, phone, message);
}

/** Opens a message after the phone's delay, if it is still unread and the phone online by then. */
export function scheduleRead(world: World, phone: Phone, message: Message): void {
  world.later(settingOf(world, phone, 'read_delay_ms'), () => {
    if (phone.account || !isOnline(world, phone)) return;
    if (openMessage(world, phone, message)) answer(world, phone, message);
  });
}

/** Marks a message as read by `phone`; false when it was already. Media that is played is not played yet. */
export function readMessage(world: World, phone: Phone, message: Message): boolean {
  if (!phone.unread.delete(message)) return false;
  recordReceipt(world, message, 'read', phone);
  return true;
}

/** Reads or plays a message, as a person who looks at it does; false when that was done before. */
export function openMessage(world: World, phone: Phone, message: Message): boolean {
  const isNew = phone.unread.delete(message);
  const how = familyOf(message).opened?.(message.content) ?? 'read';
  if (!isNew && (how === 'read' || reachedBy(message, phone) === 'played')) return false;
  recordReceipt(world, message, how, phone);
  return true;
}

/** A phone with `auto_reply` answers each text with a text. */
function answer(world: World, phone: Phone, message: Message) {
  const text = settingOf(world, phone, 'auto_reply');
  if (text === null || message.automatic || message.type !== 'text' || isShared(message.to)) return;
  takeMessage(
    world,
    {
      id: newNetworkId(),
      from: phone,
      to: jidOfPhone(message.from.phone),
      type: 'text',
      content: { text },
      automatic: true,
    },
    { ledger: false },
  );
}

/** An id as a phone of the network draws it: not one of our 32-digit ids, so the two are told apart. */
export function newNetworkId(): string {
  return `3EB0${randomBytes(9).toString('hex').toUpperCase()}`;
}
