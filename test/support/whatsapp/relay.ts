import { randomBytes } from 'node:crypto';
import { writeFields } from './fields.ts';
import { hkdf, sealGcm } from './keys.ts';
import type { LinkedDevice } from './linked-device.ts';
import { bytesOf, child, children, node, parseJid, type Stanza, uintOf } from './nodes.ts';
import type { Phone } from './phone.ts';
import { receiveAtPhone } from './phone-inbox.ts';
import { resend } from './phone-outbox.ts';
import { addressOf, type Group, jidIn, type LedgerEntry, phoneOf, seconds, type World } from './world.ts';

/** Handles the stanzas that a device sends to others: messages, receipts, confirmations, presence. */

export function takeMessage(world: World, from: LinkedDevice, stanza: Stanza): void {
  const fault = world.faults.onMessage?.(from, stanza) ?? null;
  if (fault === 'drop_before_ledger') {
    from.connection?.cut();
    return;
  }
  if (typeof fault === 'object' && fault !== null) {
    from.connection?.send(ackOf(stanza, { error: String(fault.error) }));
    return;
  }
  enter(world, from, stanza);
  deliver(world, from, stanza);
  if (fault === 'drop_after_ledger') {
    from.connection?.cut();
    return;
  }
  const ack = ackOf(stanza, { t: seconds() });
  if (fault === 'hold_ack' || from.holdsAcks) from.heldAcks.push(ack);
  else from.connection?.send(ack);
}

export function takeReceipt(world: World, from: LinkedDevice, stanza: Stanza): void {
  const { to = '', id = '', type } = stanza.attrs;
  const items = children(child(stanza, 'list'), 'item').map((item) => item.attrs.id!);
  const ids = [id, ...items];
  for (const each of ids) from.confirm('message', each, { recipient: stanza.attrs.recipient });
  from.connection?.send(
    node('ack', { class: 'receipt', id, from: to, type, participant: stanza.attrs.participant }),
  );
  if (type === 'server-error') {
    storeAgain(world, from, stanza);
    return;
  }
  const author = phoneOf(world, stanza.attrs.participant ?? to);
  if (!author) return;
  const sender = world.phones.get(from.number)!;
  author.receipts.push({
    ...{ from: from.number, ids, type: type ?? 'delivered', chat: chatName(world, to) },
    author: stanza.attrs.participant ?? to,
  });
  if (type === 'retry' && parseJid(stanza.attrs.participant ?? to).device === 0) {
    answerRetry(world, author, from, stanza);
    return;
  }
  const isChat = stanza.attrs.participant !== undefined;
  const receipt = node(
    'receipt',
    {
      from: isChat ? to : jidIn(parseJid(to).server, sender, from.id),
      participant: isChat ? jidIn(parseJid(stanza.attrs.participant!).server, sender, from.id) : undefined,
      recipient: author === sender ? stanza.attrs.recipient : undefined,
      id,
      t: stanza.attrs.t ?? seconds(),
      type,
    },
    stanza.content,
  );
  for (const device of author.devices.values()) if (device !== from) device.deliver(receipt);
}

/** The device confirms a stanza that the network brought. */
export function takeAck(from: LinkedDevice, stanza: Stanza): void {
  from.confirm(stanza.attrs.class ?? '', stanza.attrs.id ?? '');
}

/** A device ends a call before anybody answers it: the caller is notified, if the call is its own and still rings. */
export function takeCall(world: World, from: LinkedDevice, stanza: Stanza): void {
  if (world.faults.ignoresRejections) return;
  const { id, to = '' } = stanza.attrs;
  const reject = child(stanza, 'reject');
  const caller = phoneOf(world, to);
  const callId = reject?.attrs['call-id'] ?? '';
  if (reject?.attrs['call-creator'] === to && caller?.calls.get(callId) === 'ringing')
    caller.calls.set(callId, 'rejected');
  from.connection?.send(node('ack', { class: 'call', id, from: to, type: 'reject' }));
}

export function takePresence(world: World, from: LinkedDevice, stanza: Stanza): void {
  const { type, to, name } = stanza.attrs;
  if (!type && !name) from.emptyPresences += 1;
  if (name) from.pushName = name;
  const phone = world.phones.get(from.number)!;
  if (type === 'subscribe' && to) {
    const other = phoneOf(world, to);
    if (other)
      from.tell(
        node('presence', { from: to, type: other.isOnline ? undefined : 'unavailable', last: seconds() }),
      );
    return;
  }
  if (type === 'available' || type === 'unavailable') from.presence = type;
  if (name) phone.name = name;
}

export function takeChatState(world: World, from: LinkedDevice, stanza: Stanza): void {
  const to = stanza.attrs.to ?? '';
  const [what] = children(stanza);
  const state = what?.attrs.media === 'audio' ? 'recording' : (what?.tag ?? '');
  const sender = world.phones.get(from.number)!;
  const group = world.groups.get(to);
  const phones = group ? [...group.members.values()].map((member) => member.phone) : [phoneOf(world, to)];
  for (const phone of phones) {
    if (!phone || phone === sender) continue;
    phone.typing.push({ from: from.number, state });
    const shown = group
      ? { from: to, participant: jidIn(group.addressing, sender, 0) }
      : { from: jidIn(parseJid(to).server, sender, 0) };
    for (const device of phone.devices.values()) device.tell(node('chatstate', shown, stanza.content));
  }
}

function enter(world: World, from: LinkedDevice, stanza: Stanza): void {
  const { id = '', to = '', type = '' } = stanza.attrs;
  const known = world.ledger.find((entry) => entry.id === id && entry.number === from.number);
  if (known) {
    known.timesSeen += 1;
    known.stanzas.push(stanza);
    return;
  }
  const entry: LedgerEntry = {
    number: from.number,
    device: from.id,
    id,
    to,
    type,
    at: new Date(),
    timesSeen: 1,
    stanzas: [stanza],
  };
  world.ledger.push(entry);
}

function ackOf(stanza: Stanza, more: Record<string, string>): Stanza {
  const { id, to, type, participant } = stanza.attrs;
  return node('ack', { class: 'message', id, from: to, type, participant, ...more });
}

function deliver(world: World, from: LinkedDevice, stanza: Stanza): void {
  const to = stanza.attrs.to!;
  const group = world.groups.get(to);
  if (group || to === 'status@broadcast') {
    deliverToMany(world, from, stanza, group);
    return;
  }
  const targets = children(child(stanza, 'participants'), 'to');
  if (targets.length === 0) {
    deliverOne(world, from, stanza, to, children(stanza, 'enc'), stanza.attrs.recipient);
    return;
  }
  for (const target of targets) {
    deliverOne(world, from, stanza, target.attrs.jid!, children(target, 'enc'), to);
  }
}

/** One device's copy of a message of a one-to-one chat; `chat` is named to the sender's own devices. */
function deliverOne(
  world: World,
  from: LinkedDevice,
  stanza: Stanza,
  target: string,
  encs: readonly Stanza[],
  chat: string | undefined,
): void {
  const sender = world.phones.get(from.number)!;
  const phone = phoneOf(world, target);
  if (!phone) throw new Error(`A message to nobody: ${target}`);
  // A phone that has blocked the sender gets nothing, and the sender is not notified.
  if (phone.blocked.has(sender.number)) return;
  const { device, server } = parseJid(target);
  const isOwn = phone === sender;
  const isLid = server === 'lid';
  const copy = node(
    'message',
    {
      ...passedOn(stanza),
      from: jidIn(server, sender, from.id),
      sender_pn: isLid ? sender.jid : undefined,
      sender_lid: isLid ? undefined : sender.lid,
      recipient: isOwn && stanza.attrs.category !== 'peer' ? chat : undefined,
    },
    [...encs, ...children(stanza, 'device-identity')],
  );
  hand(world, phone, device, copy);
}

/**
 * A message of a group or a status: the same sealed bytes for all, with the key for each device that does not have it
 * yet.
 */
function deliverToMany(world: World, from: LinkedDevice, stanza: Stanza, group: Group | undefined): void {
  const sender = world.phones.get(from.number)!;
  const server = group ? (stanza.attrs.addressing_mode ?? group.addressing) : 'pn';
  const only = stanza.attrs.participant;
  const told = children(child(stanza, 'participants'), 'to');
  const shared = children(stanza, 'enc');
  const targets = new Map<string, { phone: Phone; device: number; encs: Stanza[] }>();
  const add = (phone: Phone | undefined, device: number, encs: Stanza[]) => {
    if (!phone || (phone === sender && device === from.id)) return;
    const key = addressOf(phone.number, device);
    const known = targets.get(key);
    if (known) known.encs.unshift(...encs);
    else targets.set(key, { phone, device, encs: [...encs, ...shared] });
  };
  if (only) add(phoneOf(world, only), parseJid(only).device, []);
  else if (group) {
    for (const { phone } of group.members.values()) {
      for (const device of [0, ...phone.devices.keys()]) add(phone, device, []);
    }
  }
  for (const target of told) {
    add(phoneOf(world, target.attrs.jid!), parseJid(target.attrs.jid!).device, children(target, 'enc'));
  }
  for (const { phone, device, encs } of targets.values()) {
    if (phone.blocked.has(sender.number) && !group) continue;
    const isLid = server === 'lid';
    const copy = node(
      'message',
      {
        ...passedOn(stanza),
        from: stanza.attrs.to,
        participant: jidIn(server, sender, from.id),
        participant_pn: isLid ? sender.jid : undefined,
        participant_lid: isLid ? undefined : sender.lid,
        addressing_mode: group ? server : undefined,
      },
      [...encs, ...children(stanza, 'device-identity')],
    );
    hand(world, phone, device, copy);
  }
}

function hand(world: World, phone: Phone, device: number, copy: Stanza): void {
  if (device === 0) receiveAtPhone(world, phone, copy);
  else phone.devices.get(device)?.deliver(copy);
}

function passedOn(stanza: Stanza): Record<string, string | undefined> {
  const { id, type, category, edit } = stanza.attrs;
  return { id, type, category, edit, t: seconds() };
}

/** A device could not open a message of a phone: the phone sends it again, with the keys that the device offers. */
function answerRetry(world: World, phone: Phone, to: LinkedDevice, stanza: Stanza): void {
  const keys = child(stanza, 'keys');
  const registration = child(stanza, 'registration');
  const bundle = keys && {
    registrationId: registration ? uintOf(registration) : 0,
    identity: bytesOf(child(keys, 'identity')),
    signedPreKey: {
      id: uintOf(child(child(keys, 'skey'), 'id')),
      key: bytesOf(child(child(keys, 'skey'), 'value')),
      signature: bytesOf(child(child(keys, 'skey'), 'signature')),
    },
    preKey: child(keys, 'key') && {
      id: uintOf(child(child(keys, 'key'), 'id')),
      key: bytesOf(child(child(keys, 'key'), 'value')),
    },
  };
  phone.restart(addressOf(to.number, to.id), bundle);
  const count = child(stanza, 'retry')?.attrs.count ?? '1';
  resend(world, phone, to, stanza.attrs.id!, count);
}

/** A device could not fetch a file: the sender stores it again, and the device gets the new place, sealed. */
function storeAgain(world: World, device: LinkedDevice, stanza: Stanza): void {
  const id = stanza.attrs.id!;
  const about = child(stanza, 'rmr');
  const sender = phoneOf(world, about?.attrs.participant ?? about?.attrs.jid ?? '');
  if (sender && !sender.isOnline) {
    sender.waiting.push(() => storeAgain(world, device, stanza));
    return;
  }
  const file = sender?.files.get(id);
  const attrs = { from: stanza.attrs.to, id, t: seconds(), type: 'mediaretry' };
  const rmr = node('rmr', { ...about?.attrs });
  if (!file) {
    device.deliver(node('notification', attrs, [node('error', { code: '2' }), rmr]));
    return;
  }
  const directPath = `/v/again/${randomBytes(8).toString('hex')}.enc`;
  world.media.blobs.set(directPath, file.blob);
  const answer = writeFields([
    [1, id],
    [2, directPath],
    [3, 1],
  ]);
  const iv = randomBytes(12);
  const sealed = sealGcm(
    hkdf(file.mediaKey, 32, 'WhatsApp Media Retry Notification'),
    iv,
    answer,
    Buffer.from(id),
  );
  const encrypted = node('encrypt', {}, [node('enc_p', {}, sealed), node('enc_iv', {}, iv)]);
  device.deliver(node('notification', attrs, [encrypted, rmr]));
}

function chatName(world: World, to: string): string {
  if (to.endsWith('@g.us') || to.endsWith('@broadcast')) return to;
  return phoneOf(world, to)?.jid ?? to;
}
