import type { Stanza } from './nodes.ts';
import type { Bundle } from './ratchet.ts';

/** One connection that is logged in, as its senders see it. */
export interface LiveConnection {
  send(stanza: Stanza): void;
  /** Seals any bytes in place of a stanza; `spoil` changes the sealed frame. */
  sendSealed(plain: Uint8Array, spoil?: (frame: Buffer) => Buffer): void;
  /** Sends a last stanza, if there is one, then closes. */
  end(stanza?: Stanza): void;
  /** Cuts the line without a word. */
  cut(): void;
}

type UploadedPreKey = { id: number; key: Buffer };

/**
 * A device that was paired with a phone, as the network knows it: its keys, and the stanzas that it has not confirmed.
 * They are kept in order and come again, marked as offline, with the next login.
 */
export class LinkedDevice {
  readonly number: string;
  readonly id: number;
  readonly identity: Buffer;
  readonly noiseKey: Buffer;
  /** The phone's signed statement about it; other devices get it with the device's prekeys. */
  readonly signedIdentity: Buffer;
  readonly registrationId: number;
  signedPreKey: { id: number; key: Buffer; signature: Buffer };
  readonly preKeys: UploadedPreKey[] = [];
  readonly pending: Stanza[] = [];
  connection: LiveConnection | null = null;
  pushName = '';
  isLoggedOut = false;
  /** Whether the phone has sent it its history and keys. */
  isWelcomed = false;
  /** Whether stanzas go out at once; before that, the queue is being handed over. */
  isCaughtUp = false;
  logins = 0;
  /** Logins that found the device logged in already. */
  doubleLogins = 0;
  /** Presences without a type and a name, which the network may take for those of somebody who is available. */
  emptyPresences = 0;
  presence: 'available' | 'unavailable' = 'unavailable';
  /** Acks of messages are held back while this is true. */
  holdsAcks = false;
  readonly heldAcks: Stanza[] = [];
  /** How often it fetched the state of its account. */
  fetches = 0;
  /** How often it asked for a collection that was left out. */
  leftOut = 0;

  constructor(given: {
    number: string;
    id: number;
    identity: Buffer;
    noiseKey: Buffer;
    signedIdentity: Buffer;
    registrationId: number;
    signedPreKey: { id: number; key: Buffer; signature: Buffer };
  }) {
    this.number = given.number;
    this.id = given.id;
    this.identity = given.identity;
    this.noiseKey = given.noiseKey;
    this.signedIdentity = given.signedIdentity;
    this.registrationId = given.registrationId;
    this.signedPreKey = given.signedPreKey;
  }

  get jid(): string {
    return `${this.number}:${this.id}@s.whatsapp.net`;
  }

  /** The keys that begin a session with it; each prekey is given away once. */
  takeBundle(): Bundle {
    const preKey = this.preKeys.shift();
    return {
      registrationId: this.registrationId,
      identity: this.identity,
      signedPreKey: this.signedPreKey,
      preKey,
    };
  }

  /** Hands over a stanza that must be confirmed. */
  deliver(stanza: Stanza): void {
    this.pending.push(stanza);
    if (this.isCaughtUp) this.connection?.send(stanza);
  }

  /** Hands over a stanza that is worth something only now. */
  tell(stanza: Stanza): void {
    if (this.isCaughtUp) this.connection?.send(stanza);
  }

  /** The queue, as it is handed over after a login. */
  taking(): void {
    for (const stanza of this.pending) {
      this.connection?.send({ ...stanza, attrs: { ...stanza.attrs, offline: '0' } });
    }
    this.isCaughtUp = true;
  }

  /** The device has confirmed a stanza, by its kind and id; by a receipt only if that names the same recipient. */
  confirm(tag: string, id: string, receipt?: { recipient: string | undefined }): void {
    const at = this.pending.findIndex(
      ({ tag: kind, attrs }) =>
        kind === tag && attrs.id === id && (!receipt || receipt.recipient === attrs.recipient),
    );
    if (at >= 0) this.pending.splice(at, 1);
  }
}
