import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { publish } from './app-state.ts';
import type { LinkedDevice } from './linked-device.ts';
import { type MediaKind, openMedia, storeMedia } from './media-server.ts';
import { node, type WireMessage } from './nodes.ts';
import { enterCode, isShown, scan } from './pairing.ts';
import type { Phone, PhoneMessage } from './phone.ts';
import { tellSender } from './phone-inbox.ts';
import {
  type SendOptions,
  sendFromPhone,
  sendToList,
  tellOwnDevices,
  tellOwnDevicesTogether,
} from './phone-outbox.ts';
import { nameIn, type Said, sealed, secretOf } from './sealed.ts';
import { jidIn, seconds, type World } from './world.ts';

const POLL_MS = 10;

/** Waits until `find` returns something. Throws with `what` when it does not in time. */
export async function until<T>(
  find: () => T | undefined | null | false,
  what: string,
  timeoutMs = 30_000,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const found = find();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > end) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await delay(POLL_MS);
  }
}

/** A test's control of a simulated phone, in place of its user. */
export class PhoneHandle {
  readonly phone: Phone;
  readonly #world: World;

  constructor(world: World, phone: Phone) {
    this.#world = world;
    this.phone = phone;
  }

  get number(): string {
    return this.phone.number;
  }

  get jid(): string {
    return this.phone.jid;
  }

  get lid(): string {
    return this.phone.lid;
  }

  get messages(): readonly PhoneMessage[] {
    return this.phone.messages;
  }

  /** The device that was paired last. Throws when none is. */
  get device(): LinkedDevice {
    const device = [...this.phone.devices.values()].at(-1);
    if (!device) throw new Error(`Nothing is paired with ${this.number}`);
    return device;
  }

  /** Moves the account to another number; its anonymous id stays. */
  takeNumber(number: string): void {
    this.#world.phones.delete(this.number);
    this.#world.phones.set(number, Object.assign(this.phone, { number }));
  }

  /** Whether a device waits for this QR code to be scanned. */
  sees(qr: string): boolean {
    return isShown(this.#world, qr);
  }

  scan(qr: string): void {
    scan(this.#world, this.phone, qr);
  }

  /** Types the code that the device shows; waits until the device has asked for one. */
  async enterCode(code: string): Promise<void> {
    const waits = () => [...this.#world.waiting.values()].some((each) => each.code?.number === this.number);
    await until(waits, `a device asks for a code of ${this.number}`);
    enterCode(this.#world, this.phone, code);
  }

  /** The message with this id, once it has arrived and was opened. */
  message(id: string, timeoutMs?: number): Promise<PhoneMessage> {
    const find = () => this.phone.messages.find((message) => message.id === id);
    return until(
      find,
      `message ${id} at ${this.number} (failures: ${JSON.stringify(this.phone.failures)})`,
      timeoutMs,
    );
  }

  /** A receipt of somebody for a message of this phone. */
  receipt(id: string, type: string, timeoutMs?: number) {
    const find = () =>
      this.phone.receipts.find((receipt) => receipt.ids.includes(id) && receipt.type === type);
    return until(find, `receipt ${type} of ${id} at ${this.number}`, timeoutMs);
  }

  /** Sends any message; `chat` is a phone, a group's JID or `status@broadcast`. Answers its id. */
  send(
    chat: PhoneHandle | string,
    message: WireMessage,
    options: SendOptions & { audience?: readonly PhoneHandle[] } = {},
  ): string {
    const jid = typeof chat === 'string' ? chat : chat.jid;
    const audience = options.audience?.map((handle) => handle.phone);
    return sendFromPhone(this.#world, this.phone, jid, message, { ...options, audience });
  }

  text(chat: PhoneHandle | string, text: string, options?: SendOptions): string {
    return this.send(chat, { conversation: text }, options);
  }

  /**
   * Says something of a message that was sent with a secret, sealed with that: new words, a reaction, a comment, or a vote. Answers
   * the id under which it does.
   */
  sealed(
    chat: PhoneHandle | string,
    about: { id: string; by: PhoneHandle },
    what: Said,
    options: SendOptions = {},
  ): string {
    const addressing =
      this.#world.groups.get(typeof chat === 'string' ? chat : chat.jid)?.addressing ??
      options.addressing ??
      'pn';
    const of = {
      id: about.id,
      secret: secretOf(about.by.phone, about.id),
      author: nameIn(addressing, about.by.phone),
      sender: nameIn(addressing, this.phone),
    };
    return this.send(chat, sealed(this.#world, of, what), options);
  }

  /** Stores a file and sends the message that names it; `fields` are the rest of the message. */
  file(
    chat: PhoneHandle | string,
    kind: MediaKind,
    file: Buffer,
    fields: WireMessage,
    options: SendOptions = {},
  ): string {
    const reference = storeMedia(this.#world.media, kind, file);
    const content = { ...reference, mediaKeyTimestamp: Math.floor(Date.now() / 1_000), ...fields };
    const id = this.send(chat, { [`${kind}Message`]: content }, { type: 'media', ...options });
    const blob = this.#world.media.blobs.get(reference.directPath)!;
    this.phone.files.set(id, { kind, blob, mediaKey: reference.mediaKey });
    return id;
  }

  /** The file of a message, with each field of the message about it checked. */
  open(message: PhoneMessage, kind: MediaKind): Buffer {
    const content =
      message.wire[kind === 'video' && message.wire.ptvMessage ? 'ptvMessage' : `${kind}Message`];
    return openMedia(this.#world.media, kind, content as Record<string, unknown>);
  }

  /** Sends a message to a broadcast list of its own. Answers its id. */
  broadcast(
    list: string,
    recipients: readonly PhoneHandle[],
    message: WireMessage,
    addressing: 'pn' | 'lid' = 'pn',
  ): string {
    const phones = recipients.map(({ phone }) => phone);
    return sendToList(this.#world, this.phone, list, phones, message, addressing);
  }

  /** Somebody received, read or played a message of this phone: its linked devices are notified. */
  hears(by: PhoneHandle, id: string, type?: 'read' | 'played'): void {
    tellOwnDevices(this.#world, this.phone, by.phone, id, type);
  }

  /** Many got or read messages that this phone sent to a group or as statuses, and its linked devices hear of all at once. */
  hearsTogether(by: readonly PhoneHandle[], ids: readonly string[], type?: 'read'): void {
    const phones = by.map(({ phone }) => phone);
    tellOwnDevicesTogether(this.#world, this.phone, phones, ids, type);
  }

  /** Notifies the sender that its messages were read, or played. */
  read(messages: readonly PhoneMessage[], type: 'read' | 'played' = 'read'): void {
    const [first] = messages;
    if (first)
      tellSender(
        this.#world,
        this.phone,
        first.stanza,
        type,
        messages.map(({ id }) => id),
      );
  }

  /** Shows the linked devices of another phone that this one types, or is online. */
  show(to: PhoneHandle, state: 'composing' | 'recording' | 'paused' | 'available' | 'unavailable'): void {
    const from = jidIn('pn', this.phone, 0);
    for (const device of to.phone.devices.values()) {
      if (state === 'available' || state === 'unavailable') {
        device.tell(node('presence', { from, type: state === 'unavailable' ? state : undefined }));
        continue;
      }
      const what = state === 'recording' ? node('composing', { media: 'audio' }) : node(state);
      device.tell(node('chatstate', { from }, [what]));
    }
  }

  /** Changes something of its chats, such as `["archive", jid]`, and notifies its devices. */
  publish(
    collection: string,
    index: readonly string[],
    value: WireMessage,
    operation?: 'SET' | 'REMOVE',
  ): void {
    publish(this.#world, this.phone, collection, index, value, operation);
  }

  /** Its user changes settings that the network keeps: its devices are notified that, and not of what. */
  changeSettings(): void {
    const attrs = { from: this.jid, id: randomBytes(6).toString('hex'), t: seconds(), type: 'account_sync' };
    for (const device of this.phone.devices.values())
      device.deliver(node('notification', attrs, [node('privacy')]));
  }

  /** Calls another phone, whose devices ring; returns the call's id. `what` is how the call ends. */
  call(
    to: PhoneHandle,
    what: 'offer' | 'terminate',
    callId = randomBytes(16).toString('hex'),
    isVideo = false,
    addressing: 'pn' | 'lid' = 'pn',
  ): string {
    const from = addressing === 'lid' ? this.lid : this.jid;
    const attrs = {
      'call-id': callId,
      'call-creator': from,
      caller_pn: addressing === 'lid' ? this.jid : undefined,
      reason: what === 'terminate' ? 'timeout' : undefined,
    };
    this.phone.calls.set(callId, what === 'offer' ? 'ringing' : 'over');
    const content = isVideo ? [node('video')] : undefined;
    for (const device of to.phone.devices.values()) {
      const id = randomBytes(8).toString('hex');
      device.deliver(node('call', { from, id, t: seconds() }, [node(what, attrs, content)]));
    }
    return callId;
  }

  /** The messages with another phone from before any device was paired, oldest first; returns their ids. */
  remember(
    other: PhoneHandle,
    said: readonly { text: string; fromMe: boolean; at: Date; secret?: Buffer }[],
    chat: WireMessage = {},
  ): string[] {
    const ids = said.map(() => randomBytes(10).toString('hex').toUpperCase());
    const messages = said.map(({ text, fromMe, at, secret }, nth) => ({
      message: {
        key: { remoteJid: other.jid, fromMe, id: ids[nth] },
        message: { conversation: text },
        messageTimestamp: Number(seconds(at)),
        // In a history the secret stands beside the message.
        messageSecret: secret,
        ...(fromMe ? { status: 'READ' } : { pushName: other.phone.name }),
      },
      msgOrderId: nth + 1,
    }));
    for (const [nth, { text, fromMe, secret }] of said.entries()) {
      const [by, chat] = fromMe ? [this, other.jid] : [other, this.jid];
      const context = secret ? { messageContextInfo: { messageSecret: secret } } : {};
      by.phone.sent.set(ids[nth]!, { chat, message: { conversation: text, ...context } });
    }
    const { conversations = [] } = this.phone.history as { conversations?: WireMessage[] };
    // A history has the newest message first.
    const conversation = { id: other.jid, messages: messages.toReversed(), ...chat };
    this.phone.history = { ...this.phone.history, conversations: [...conversations, conversation] };
    return ids;
  }

  goOffline(): void {
    this.phone.isOnline = false;
  }

  /** Delivers the waiting messages now, in order. */
  comeOnline(): void {
    this.phone.isOnline = true;
    for (const deliver of this.phone.waiting.splice(0)) deliver();
  }
}
