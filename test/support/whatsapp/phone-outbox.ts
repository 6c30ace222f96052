import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { LinkedDevice } from './linked-device.ts';
import { type MediaReference, storeMedia } from './media-server.ts';
import { node, pad, type Stanza, type WireMessage } from './nodes.ts';
import type { Phone } from './phone.ts';
import { addressOf, type Group, jidIn, phoneOf, seconds, type World } from './world.ts';

/** Messages of a simulated phone to the linked devices of others and to its own. */

export interface SendOptions {
  id?: string;
  /** The type in the stanza. */
  type?: string;
  at?: Date;
  /** Whether a one-to-one chat shows the number or the anonymous id, and a status its author. */
  addressing?: 'pn' | 'lid';
  /** Linked devices do not get the message, but are told that there is one, of this kind: `view_once`, or nothing for that of an advertisement. */
  unavailable?: string;
  /** The broadcast list by which the recipient gets it. */
  list?: string;
  /** It is sent by the device that Meta runs for a business. */
  isHosted?: boolean;
  /** A one-to-one chat shows only that address. */
  hidesOther?: boolean;
  /** As `status`, the network puts a status into a stanza of its own. */
  tag?: 'message' | 'status';
}

/** Sends a message; `chat` is a number's JID, a group, or `status@broadcast` with its audience. Returns its id. */
export function sendFromPhone(
  world: World,
  phone: Phone,
  chat: string,
  message: WireMessage,
  options: SendOptions & { audience?: readonly Phone[] } = {},
): string {
  const id = options.id ?? randomBytes(10).toString('hex').toUpperCase();
  phone.sent.set(id, { chat, message });
  const group = world.groups.get(chat);
  if (group || chat === 'status@broadcast') {
    const phones = group
      ? [...group.members.values()].map((member) => member.phone)
      : (options.audience ?? []);
    sendToMany(world, phone, chat, message, [...phones, phone], { ...options, id }, group);
    return id;
  }
  const other = phoneOf(world, chat);
  if (!other) throw new Error(`Nobody has ${chat}`);
  if (other.blocked.has(phone.number)) return id;
  for (const device of other.devices.values())
    sendToDevice(world, phone, device, message, { ...options, id });
  if (other !== phone) {
    // The secret of a message stands beside its copy.
    const { messageContextInfo, ...content } = message;
    const copy = {
      deviceSentMessage: { destinationJid: chat, message: content },
      ...(messageContextInfo ? { messageContextInfo } : {}),
    };
    for (const device of phone.devices.values()) {
      sendToDevice(world, phone, device, copy, { ...options, id, recipient: other });
    }
  }
  return id;
}

/** Sends a message to each recipient of a broadcast list of the phone, whose own devices are told who they are. */
export function sendToList(
  world: World,
  phone: Phone,
  list: string,
  recipients: readonly Phone[],
  message: WireMessage,
  addressing: 'pn' | 'lid',
): string {
  const id = randomBytes(10).toString('hex').toUpperCase();
  const options = { id, list, addressing };
  phone.sent.set(id, { chat: list, message });
  for (const other of recipients)
    for (const device of other.devices.values()) sendToDevice(world, phone, device, message, options);
  const copy = { deviceSentMessage: { destinationJid: list, message } };
  for (const device of phone.devices.values())
    sendToDevice(world, phone, device, copy, { ...options, recipients });
  return id;
}

/** The linked devices of a phone are notified of receipts for a message that it sent. */
export function tellOwnDevices(
  world: World,
  phone: Phone,
  by: Phone,
  id: string,
  type: 'read' | 'played' | undefined,
): void {
  const chat = phone.sent.get(id)!.chat;
  const isShared = world.groups.has(chat) || chat.endsWith('@broadcast');
  const from = isShared ? { from: chat, participant: by.jid } : { from: by.jid };
  for (const device of phone.devices.values())
    device.deliver(node('receipt', { ...from, id, type, t: seconds() }));
}

/** The same of many at once: the network tells of those who were away in one stanza. */
export function tellOwnDevicesTogether(
  world: World,
  phone: Phone,
  by: readonly Phone[],
  ids: readonly string[],
  type: 'read' | undefined,
): void {
  const chat = phone.sent.get(ids[0]!)?.chat ?? '';
  const addressing = world.groups.get(chat)?.addressing ?? 'pn';
  const users = by.map((other) => node('user', { jid: jidIn(addressing, other, 0), t: seconds() }));
  const content = ids.map((key) => node('participants', { key }, users));
  for (const device of phone.devices.values())
    device.deliver(node('receipt', { from: chat, id: randomBytes(8).toString('hex'), type }, content));
}

/** Sends a message again that a device could not open. */
export function resend(world: World, phone: Phone, to: LinkedDevice, id: string, count: string): void {
  const sent = phone.sent.get(id);
  if (!sent) return;
  const group = world.groups.get(sent.chat);
  if (!group && sent.chat !== 'status@broadcast') {
    const isOwn = to.number === phone.number && phoneOf(world, sent.chat) !== phone;
    const message = isOwn
      ? { deviceSentMessage: { destinationJid: sent.chat, message: sent.message } }
      : sent.message;
    const recipient = isOwn ? phoneOf(world, sent.chat) : undefined;
    sendToDevice(world, phone, to, message, { id, count, recipient });
    return;
  }
  const address = addressOf(to.number, to.id);
  const bytes = pad(world.coding.encodeMessage(sent.message));
  const { type, bytes: sealed } = phone.seal(address, bytes, () => to.takeBundle());
  to.deliver(
    node('message', chatAttrs(phone, sent.chat, group, { id }), [
      node('enc', { v: '2', type, count }, sealed),
    ]),
  );
}

/** A phone gives a newly linked device the key of its app state, and its history. */
export function welcome(world: World, phone: Phone, device: LinkedDevice): void {
  device.isWelcomed = true;
  const { id, data } = phone.appStateKey;
  const keyData = {
    keyData: data,
    fingerprint: { rawId: 1, currentIndex: 0, deviceIndexes: [0] },
    timestamp: Date.now(),
  };
  sendToSelf(world, phone, device, {
    type: 'APP_STATE_SYNC_KEY_SHARE',
    appStateSyncKeyShare: { keys: [{ keyId: { keyId: id }, keyData }] },
  });
  const about = { syncType: 'INITIAL_BOOTSTRAP', chunkOrder: 1, progress: 100 };
  const coder = world.coding.proto.HistorySync!;
  const packed = deflateSync(coder.encode(coder.fromObject({ ...about, ...phone.history })).finish());
  const payload =
    phone.givesHistoryAs === 'file'
      ? withoutUrl(storeMedia(world.media, 'history', packed))
      : { initialHistBootstrapInlinePayload: packed };
  sendToSelf(world, phone, device, {
    type: 'HISTORY_SYNC_NOTIFICATION',
    historySyncNotification: { ...about, ...payload },
  });
}

/** A reference without a server, to a file in the common place. */
function withoutUrl({ url: _url, ...reference }: MediaReference): WireMessage {
  return reference;
}

export function sendToSelf(
  world: World,
  phone: Phone,
  device: LinkedDevice,
  protocolMessage: WireMessage,
): void {
  const id = randomBytes(10).toString('hex').toUpperCase();
  sendToDevice(world, phone, device, { protocolMessage }, { id, category: 'peer' });
}

function sendToDevice(
  world: World,
  phone: Phone,
  device: LinkedDevice,
  message: WireMessage,
  options: SendOptions & {
    recipient?: Phone;
    count?: string;
    category?: string;
    recipients?: readonly Phone[];
  },
): void {
  const isLid = options.addressing === 'lid';
  const { recipient, list } = options;
  // To the account's own devices the network names the recipient, under both addresses.
  const others = recipient
    ? {
        recipient: isLid ? recipient.lid : recipient.jid,
        peer_recipient_pn: isLid ? recipient.jid : undefined,
        peer_recipient_lid: isLid ? undefined : recipient.lid,
      }
    : options.hidesOther
      ? {}
      : list
        ? {
            participant: jidIn(isLid ? 'lid' : 'pn', phone, 0),
            participant_pn: isLid ? phone.jid : undefined,
            participant_lid: isLid ? undefined : phone.lid,
          }
        : { sender_pn: isLid ? phone.jid : undefined, sender_lid: isLid ? undefined : phone.lid };
  device.deliver(
    node(
      'message',
      {
        from: list ?? (options.isHosted ? hostedJid(phone, isLid) : jidIn(isLid ? 'lid' : 'pn', phone, 0)),
        ...others,
        category: options.category,
        id: options.id,
        type: options.type ?? 'text',
        t: seconds(options.at),
        notify: phone.name,
      },
      [
        options.unavailable === undefined ? sealedFor() : unavailable(options.unavailable),
        ...(options.recipients ? [onList(options.recipients)] : []),
      ],
    ),
  );

  function sealedFor(): Stanza {
    const bytes = pad(world.coding.encodeMessage(message));
    const sealed = phone.seal(addressOf(device.number, device.id), bytes, () => device.takeBundle());
    return node('enc', { v: '2', type: sealed.type, count: options.count }, sealed.bytes);
  }
}

function onList(recipients: readonly Phone[]): Stanza {
  const named = recipients.map(({ lid, jid }) => node('to', { jid: lid, peer_recipient_pn: jid }));
  return node('participants', {}, named);
}

function hostedJid({ number, lidUser }: Phone, isLid: boolean): string {
  return isLid ? `${lidUser}:99@hosted.lid` : `${number}:99@hosted`;
}

function unavailable(type: string): Stanza {
  return node('unavailable', type === '' ? {} : { type });
}

function sendToMany(
  world: World,
  phone: Phone,
  chat: string,
  message: WireMessage,
  phones: readonly Phone[],
  options: SendOptions,
  group: Group | undefined,
): void {
  const devices = [...new Set(phones)].flatMap((other) => [...other.devices.values()]);
  if (options.unavailable !== undefined) {
    const attrs = chatAttrs(phone, chat, group, options);
    for (const device of devices) device.deliver(node('message', attrs, [unavailable(options.unavailable)]));
    return;
  }
  const addresses = devices.map((device) => addressOf(device.number, device.id));
  const { sealed, distribution, untold } = phone.sealForChat(
    chat,
    addresses,
    pad(world.coding.encodeMessage(message)),
  );
  const key = {
    senderKeyDistributionMessage: { groupId: chat, axolotlSenderKeyDistributionMessage: distribution },
  };
  for (const device of devices) {
    const address = addressOf(device.number, device.id);
    const encs: Stanza[] = [];
    if (untold.includes(address)) {
      const told = phone.seal(address, pad(world.coding.encodeMessage(key)), () => device.takeBundle());
      encs.push(node('enc', { v: '2', type: told.type }, told.bytes));
    }
    encs.push(node('enc', { v: '2', type: 'skmsg' }, sealed));
    device.deliver(node(options.tag ?? 'message', chatAttrs(phone, chat, group, options), encs));
  }
}

function chatAttrs(phone: Phone, chat: string, group: Group | undefined, options: SendOptions) {
  const isLid = (group?.addressing ?? options.addressing) === 'lid';
  return {
    from: chat,
    participant: jidIn(isLid ? 'lid' : 'pn', phone, 0),
    participant_pn: isLid ? phone.jid : undefined,
    participant_lid: isLid ? undefined : phone.lid,
    addressing_mode: group?.addressing,
    id: options.id,
    type: options.type ?? 'text',
    t: seconds(options.at),
    notify: phone.name,
  };
}
