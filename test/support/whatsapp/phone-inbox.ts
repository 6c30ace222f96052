import { randomBytes } from 'node:crypto';
import {
  bytesOf,
  children,
  node,
  parseJid,
  type Stanza,
  uintBytes,
  unpad,
  type WireMessage,
} from './nodes.ts';
import type { Phone, PhoneMessage } from './phone.ts';
import { answerDevice } from './placeholders.ts';
import { OpenedBefore } from './ratchet.ts';
import { addressOf, jidIn, phoneOf, seconds, type World } from './world.ts';

/** A phone handles a message that the network brings: it opens and keeps the message, and notifies the sender. */
export function receiveAtPhone(world: World, phone: Phone, stanza: Stanza): void {
  if (!phone.isOnline) {
    phone.waiting.push(() => receiveAtPhone(world, phone, stanza));
    return;
  }
  const id = stanza.attrs.id!;
  const author = stanza.attrs.participant ?? stanza.attrs.from!;
  const sender = phoneOf(world, author);
  if (!sender) throw new Error(`A message from nobody: ${author}`);
  const device = parseJid(author).device;
  const address = addressOf(sender.number, device);
  const sealed: string[] = [];
  let opened: { wire: WireMessage; bytes: Buffer } | null = null;
  try {
    for (const enc of children(stanza, 'enc')) {
      sealed.push(enc.attrs.type!);
      const plain = openPart(phone, stanza.attrs.from!, address, enc);
      if (plain === null) {
        phone.repeats.push({ id, from: sender.number });
        continue;
      }
      const bytes = unpad(plain);
      const wire = world.coding.decodeMessage(bytes);
      learnSenderKey(phone, address, wire);
      opened = { wire, bytes };
    }
  } catch (err) {
    phone.failures.push({ id, from: sender.number, reason: `${(err as Error).message} (${sealed.at(-1)})` });
    askAgain(world, phone, sender, stanza);
    return;
  }
  if (opened === null) return;
  const isKeyOnly = Object.keys(opened.wire).every((key) => KEY_FIELDS.has(key));
  if (!isKeyOnly) keep(world, phone, sender, stanza, { ...opened, sealed });
  if (sender === phone) answerDevice(world, phone, device, opened.wire);
  tellSender(world, phone, stanza, undefined, [id]);
}

/** Null for a part whose counter was used before. */
function openPart(phone: Phone, chat: string, address: string, enc: Stanza): Buffer | null {
  try {
    return enc.attrs.type === 'skmsg'
      ? phone.openOfChat(chat, address, bytesOf(enc))
      : phone.open(address, enc.attrs.type!, bytesOf(enc));
  } catch (err) {
    if (err instanceof OpenedBefore) return null;
    throw err;
  }
}

/** Messages that only carry keys are not shown. */
const KEY_FIELDS = new Set(['senderKeyDistributionMessage', 'messageContextInfo']);

/** Sends a receipt to the device that sent something, in the form in which it was addressed. */
export function tellSender(
  world: World,
  phone: Phone,
  stanza: Stanza,
  type: string | undefined,
  ids: readonly string[],
): void {
  const author = stanza.attrs.participant ?? stanza.attrs.from!;
  const { device, server } = parseJid(author);
  const target = phoneOf(world, author)?.devices.get(device);
  // The account's own phone confirms messages that its devices sent to themselves alone, not those to others.
  if (!target || (target.number === phone.number && type === undefined && stanza.attrs.recipient)) return;
  const isChat = stanza.attrs.participant !== undefined;
  const rest = ids.slice(1).map((id) => node('item', { id }));
  target.deliver(
    node(
      'receipt',
      {
        from: isChat ? stanza.attrs.from : jidIn(server, phone, 0),
        participant: isChat ? jidIn(server, phone, 0) : undefined,
        id: ids[0],
        t: seconds(),
        type,
      },
      rest.length > 0 ? [node('list', {}, rest)] : undefined,
    ),
  );
}

function keep(
  world: World,
  phone: Phone,
  sender: Phone,
  stanza: Stanza,
  opened: { wire: WireMessage; bytes: Buffer; sealed: string[] },
): void {
  const id = stanza.attrs.id!;
  const chat = chatOf(world, stanza);
  const known = phone.messages.find(
    (message) => message.id === id && message.chat === chat && message.from === sender.number,
  );
  if (known) {
    known.timesSeen += 1;
    return;
  }
  const inner = opened.wire.deviceSentMessage as { message?: WireMessage } | undefined;
  const message: PhoneMessage = {
    id,
    chat,
    from: sender.number,
    fromMe: sender === phone,
    type: stanza.attrs.type ?? '',
    wire: inner?.message ?? opened.wire,
    bytes: opened.bytes,
    sealed: opened.sealed,
    timesSeen: 1,
    openedAtMs: Number(process.hrtime.bigint()) / 1_000_000,
    stanza,
  };
  phone.messages.push(message);
}

function chatOf(world: World, stanza: Stanza): string {
  const chat = stanza.attrs.recipient ?? stanza.attrs.from!;
  if (chat.endsWith('@g.us') || chat.endsWith('@broadcast')) return chat;
  return phoneOf(world, chat)?.jid ?? chat;
}

function learnSenderKey(phone: Phone, address: string, wire: WireMessage): void {
  const told = wire.senderKeyDistributionMessage as
    | { groupId: string; axolotlSenderKeyDistributionMessage: Buffer }
    | undefined;
  if (told) phone.learnSenderKey(told.groupId, address, told.axolotlSenderKeyDistributionMessage);
}

/** A phone that cannot open a message asks its sender for it once more, with fresh keys. */
function askAgain(world: World, phone: Phone, sender: Phone, stanza: Stanza): void {
  const author = stanza.attrs.participant ?? stanza.attrs.from!;
  const { device, server } = parseJid(author);
  const count = phone.failures.filter((failure) => failure.id === stanza.attrs.id).length;
  phone.restart(addressOf(sender.number, device));
  const bundle = phone.takeBundle();
  const isChat = stanza.attrs.participant !== undefined;
  world.phones
    .get(sender.number)
    ?.devices.get(device)
    ?.deliver(
      node(
        'receipt',
        {
          from: isChat ? stanza.attrs.from : jidIn(server, phone, 0),
          participant: isChat ? jidIn(server, phone, 0) : undefined,
          // An own device says whose message it was.
          recipient: stanza.attrs.recipient,
          id: stanza.attrs.id,
          t: seconds(),
          type: 'retry',
        },
        [
          node('retry', { count: String(count), id: stanza.attrs.id, t: stanza.attrs.t, v: '1' }),
          node('registration', {}, uintBytes(bundle.registrationId, 4)),
          node('keys', {}, [
            node('type', {}, Buffer.from([5])),
            node('identity', {}, bundle.identity),
            node('key', {}, [
              node('id', {}, uintBytes(bundle.preKey!.id, 3)),
              node('value', {}, bundle.preKey!.key),
            ]),
            node('skey', {}, [
              node('id', {}, uintBytes(bundle.signedPreKey.id, 3)),
              node('value', {}, bundle.signedPreKey.key),
              node('signature', {}, bundle.signedPreKey.signature),
            ]),
            node('device-identity', {}, randomBytes(8)),
          ]),
        ],
      ),
    );
}

/** The user reads messages of a group or another phone on the phone, whose devices are told; `read-self` if nobody else is. */
export function readOnPhone(
  phone: Phone,
  chat: string | Phone,
  [id, ...others]: readonly string[],
  { type = 'read', addressing = 'pn' }: { type?: 'read' | 'read-self'; addressing?: 'pn' | 'lid' } = {},
): void {
  const own = jidIn(addressing, phone, 0);
  const about =
    typeof chat === 'string'
      ? { from: chat, participant: own }
      : { from: own, recipient: jidIn(addressing, chat, 0) };
  const items = others.map((other) => node('item', { id: other }));
  const list = items.length > 0 ? [node('list', {}, items)] : undefined;
  for (const device of phone.devices.values())
    device.deliver(node('receipt', { ...about, id, type, t: seconds() }, list));
}
