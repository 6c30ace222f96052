/** The road of a message from the network to the phone it is for. */
import { randomBytes } from 'node:crypto';
import { jidOfPhone } from '@posthorn/contract/jid.ts';
import { textFamily } from '../families/text.ts';
import { isOnline, phoneForJid, settingOf } from './phones.ts';
import { pushEvent, recordReceipt } from './receipts.ts';
import { messageRecord } from './records.ts';
import { type Message, type Phone, unmarked, type World } from './world.ts';

export interface NewMessage {
  id: string;
  from: Phone;
  to: string;
  type: string;
  content: Record<string, unknown>;
  quotedId?: string;
  automatic?: boolean;
}

/**
 * Takes a message into the network and sends it on its way. The same id of the same sender again is
 * the message that is already there: `repeated`, and nothing is sent.
 */
export function takeMessage(
  world: World,
  input: NewMessage,
  options: { ledger: boolean },
): { message: Message; repeated: boolean } {
  const known = input.from.sent.get(input.id);
  if (known) return { message: known, repeated: true };
  const recipient = phoneForJid(world, input.to);
  const message: Message = {
    id: input.id,
    from: input.from,
    // The phone's own string: one a chat instead of one a message.
    to: recipient.jid,
    type: input.type,
    content: input.content,
    quotedId: input.quotedId,
    at: Date.now(),
    seq: 0,
    timesSeen: 1,
    status: 'sent',
    automatic: input.automatic ?? false,
    marks: unmarked,
  };
  input.from.sent.set(message.id, message);
  input.from.messages.push(message);
  if (options.ledger) world.ledger.add(message);
  world.journal.append(messageRecord(message));
  deliver(world, recipient, message);
  return { message, repeated: false };
}

/** Brings a message to a phone: into its instance's queue, onto its screen, or into the waiting room. */
export function deliver(world: World, phone: Phone, message: Message): void {
  if (phone === message.from) {
    recordReceipt(world, message, 'delivered', phone);
    recordReceipt(world, message, 'read', phone);
  } else if (phone.account) {
    pushMessage(world, phone, message);
  } else if (!isOnline(world, phone)) {
    phone.waiting.push(message);
  } else {
    const delayMs = settingOf(world, phone, 'delivery_delay_ms');
    if (delayMs === 0) arrive(world, phone, message);
    else world.wheel.after(delayMs, () => arriveLater(world, phone, message));
  }
}

/** Queues a message for the instance that holds this phone. It is delivered once its driver acks it. */
export function pushMessage(world: World, phone: Phone, message: Message): void {
  if (!phone.account) return;
  const { id, type, content, quotedId: quoted, at } = message;
  const from = message.from.jid;
  const name = message.from.account?.pushName ?? message.from.name;
  pushEvent(
    world,
    phone.account,
    { k: 'message', id, chat: from, from, name, type, content, quoted, at },
    message,
  );
}

/** Called when the driver of an instance acked a message: its phone has it now. Once is enough. */
export function arriveAtInstance(world: World, phone: Phone, message: Message): void {
  if (message.status !== 'sent') return;
  phone.messages.push(message);
  phone.unread.add(message);
  recordReceipt(world, message, 'delivered', phone);
}

function arriveLater(world: World, phone: Phone, message: Message) {
  // Meanwhile it may have been paired or gone offline: then it goes that way.
  if (phone.account) pushMessage(world, phone, message);
  else if (isOnline(world, phone)) arrive(world, phone, message);
  else phone.waiting.push(message);
}

function arrive(world: World, phone: Phone, message: Message) {
  phone.messages.push(message);
  phone.unread.add(message);
  recordReceipt(world, message, 'delivered', phone);
  if (settingOf(world, phone, 'auto_read')) scheduleRead(world, phone, message);
  else answer(world, phone, message);
}

/** Reads a message after the phone's delay, if it is still unread and the phone online by then. */
export function scheduleRead(world: World, phone: Phone, message: Message): void {
  world.wheel.after(settingOf(world, phone, 'read_delay_ms'), () => {
    if (phone.account || !isOnline(world, phone)) return;
    if (readMessage(world, phone, message)) answer(world, phone, message);
  });
}

/** Marks a message as read by `phone`; false when it was already. */
export function readMessage(world: World, phone: Phone, message: Message): boolean {
  if (!phone.unread.delete(message)) return false;
  recordReceipt(world, message, 'read', phone);
  return true;
}

/** A phone with `auto_reply` answers each text with a text. */
function answer(world: World, phone: Phone, message: Message) {
  const text = settingOf(world, phone, 'auto_reply');
  if (text === null || message.automatic || message.type !== textFamily.type) return;
  takeMessage(
    world,
    {
      id: newNetworkId(),
      from: phone,
      to: jidOfPhone(message.from.phone),
      type: textFamily.type,
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
