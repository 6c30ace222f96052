import { Fields, writeFields } from './fields.ts';
import {
  agree,
  generateKeys,
  hkdf,
  hmac,
  type Keys,
  openCbc,
  sealCbc,
  withoutType,
  withType,
} from './keys.ts';

/**
 * One pairwise Signal session (X3DH and the double ratchet, version 3) at a simulated phone's end, written from the
 * protocol's specification: it opens the messages that the driver's library seals, and the other way.
 */

const VERSION = Buffer.from([0x33]);
const MAC_BYTES = 8;
const SKIP_MAX = 2_000;

export interface PreKey {
  id: number;
  keys: Keys;
}

/** The keys that a device publishes, so that others can begin a session with it. */
export interface Bundle {
  registrationId: number;
  identity: Buffer;
  signedPreKey: { id: number; key: Buffer; signature: Buffer };
  preKey?: { id: number; key: Buffer };
}

/** Our own end. */
export interface SignalSelf {
  identity: Keys;
  registrationId: number;
}

interface Chain {
  key: Buffer;
  counter: number;
}

interface ReceivingChain extends Chain {
  ratchet: Buffer;
  /** Keys of messages that have not come yet, by their counter. */
  skipped: Map<number, Buffer>;
}

export type Sealed = { type: 'pkmsg' | 'msg'; bytes: Buffer };

/** The counter of a message was used before, by any sender: its key is gone. */
export class OpenedBefore extends Error {
  constructor() {
    super('The message was opened already');
    this.name = 'OpenedBefore';
  }
}

export class SignalSession {
  readonly #self: SignalSelf;
  readonly #theirIdentity: Buffer;
  readonly baseKey: Buffer;
  #root: Buffer;
  #ours: Keys;
  #sending: Chain | null = null;
  #previousCounter = 0;
  readonly #receiving: ReceivingChain[] = [];
  #pending: { preKeyId: number | undefined; signedPreKeyId: number } | null = null;

  private constructor(self: SignalSelf, theirIdentity: Buffer, baseKey: Buffer, root: Buffer, ours: Keys) {
    this.#self = self;
    this.#theirIdentity = theirIdentity;
    this.baseKey = baseKey;
    this.#root = root;
    this.#ours = ours;
  }

  /** Begins a session with a device of which only the bundle is known. */
  static begin(self: SignalSelf, bundle: Bundle): SignalSession {
    const base = generateKeys();
    const secrets = [
      agree(self.identity.private, bundle.signedPreKey.key),
      agree(base.private, bundle.identity),
      agree(base.private, bundle.signedPreKey.key),
    ];
    if (bundle.preKey) secrets.push(agree(base.private, bundle.preKey.key));
    const session = new SignalSession(
      self,
      withoutType(bundle.identity),
      base.public,
      firstRoot(secrets),
      generateKeys(),
    );
    session.#stepSending(bundle.signedPreKey.key);
    session.#pending = { preKeyId: bundle.preKey?.id, signedPreKeyId: bundle.signedPreKey.id };
    return session;
  }

  /** The session that a first message begins. */
  static answer(
    self: SignalSelf,
    signedPreKey: Keys,
    preKey: Keys | null,
    message: FirstMessage,
  ): SignalSession {
    const secrets = [
      agree(signedPreKey.private, message.identity),
      agree(self.identity.private, message.baseKey),
      agree(signedPreKey.private, message.baseKey),
    ];
    if (preKey) secrets.push(agree(preKey.private, message.baseKey));
    return new SignalSession(self, message.identity, message.baseKey, firstRoot(secrets), signedPreKey);
  }

  seal(plain: Uint8Array): Sealed {
    const chain = this.#sending;
    if (chain === null) throw new Error('Nothing has been received in this session yet');
    const keys = messageKeys(chain);
    const body = writeFields([
      [1, withType(this.#ours.public)],
      [2, keys.counter],
      [3, this.#previousCounter],
      [4, sealCbc(keys.cipher, keys.iv, plain)],
    ]);
    const mac = this.#mac(keys.mac, this.#self.identity.public, this.#theirIdentity, body);
    const message = Buffer.concat([VERSION, body, mac]);
    if (this.#pending === null) return { type: 'msg', bytes: message };
    const first = writeFields([
      [1, this.#pending.preKeyId],
      [2, withType(this.baseKey)],
      [3, withType(this.#self.identity.public)],
      [4, message],
      [5, this.#self.registrationId],
      [6, this.#pending.signedPreKeyId],
    ]);
    return { type: 'pkmsg', bytes: Buffer.concat([VERSION, first]) };
  }

  /** Throws when it is not a message of this session, or was opened already. Then nothing has changed. */
  open(message: Buffer): Buffer {
    const body = message.subarray(1, -MAC_BYTES);
    const fields = new Fields(body);
    const ratchet = withoutType(fields.bytes(1));
    const counter = fields.number(2);
    const undo = this.#snapshot();
    try {
      const chain = this.#receivingChain(ratchet, fields.has(3) ? fields.number(3) : 0);
      const keys = takeKeys(chain, counter);
      const mac = this.#mac(keys.mac, this.#theirIdentity, this.#self.identity.public, body);
      if (!mac.equals(message.subarray(-MAC_BYTES))) throw new Error('The message is not of this session');
      const plain = openCbc(keys.cipher, keys.iv, fields.bytes(4));
      this.#pending = null;
      return plain;
    } catch (err) {
      undo();
      throw err;
    }
  }

  #receivingChain(ratchet: Buffer, previousCounter: number): ReceivingChain {
    const known = this.#receiving.find((chain) => chain.ratchet.equals(ratchet));
    if (known) return known;
    const last = this.#receiving.at(-1);
    // The library counts from -1, which arrives as the largest number there is: no message was sent in that chain.
    if (last && previousCounter < 2 ** 31) skipTo(last, previousCounter + 1);
    const [root, key] = step(this.#root, agree(this.#ours.private, ratchet));
    this.#root = root;
    const chain = { ratchet, key, counter: 0, skipped: new Map<number, Buffer>() };
    this.#receiving.push(chain);
    this.#previousCounter = Math.max(0, (this.#sending?.counter ?? 0) - 1);
    this.#ours = generateKeys();
    this.#stepSending(ratchet);
    return chain;
  }

  #stepSending(theirs: Buffer): void {
    const [root, key] = step(this.#root, agree(this.#ours.private, theirs));
    this.#root = root;
    this.#sending = { key, counter: 0 };
  }

  #mac(key: Buffer, sender: Buffer, receiver: Buffer, body: Buffer): Buffer {
    return hmac(key, withType(sender), withType(receiver), VERSION, body).subarray(0, MAC_BYTES);
  }

  #snapshot(): () => void {
    const state = { root: this.#root, ours: this.#ours, previous: this.#previousCounter };
    const sending = this.#sending && { ...this.#sending };
    const receiving = this.#receiving.map((chain) => ({ ...chain, skipped: new Map(chain.skipped) }));
    return () => {
      this.#root = state.root;
      this.#ours = state.ours;
      this.#previousCounter = state.previous;
      this.#sending = sending;
      this.#receiving.splice(0, this.#receiving.length, ...receiving);
    };
  }
}

/** A message that begins a session. */
export class FirstMessage {
  readonly preKeyId: number | null;
  readonly signedPreKeyId: number;
  readonly baseKey: Buffer;
  readonly identity: Buffer;
  readonly registrationId: number;
  readonly message: Buffer;

  constructor(bytes: Buffer) {
    const fields = new Fields(bytes.subarray(1));
    this.preKeyId = fields.has(1) ? fields.number(1) : null;
    this.baseKey = withoutType(fields.bytes(2));
    this.identity = withoutType(fields.bytes(3));
    this.message = fields.bytes(4);
    this.registrationId = fields.number(5);
    this.signedPreKeyId = fields.number(6);
  }
}

function firstRoot(secrets: readonly Buffer[]): Buffer {
  return hkdf(Buffer.concat([Buffer.alloc(32, 0xff), ...secrets]), 64, 'WhisperText').subarray(0, 32);
}

function step(root: Buffer, secret: Buffer): [root: Buffer, chain: Buffer] {
  const keys = hkdf(secret, 64, 'WhisperRatchet', root);
  return [keys.subarray(0, 32), keys.subarray(32)];
}

function advance(chain: Chain): Buffer {
  const seed = hmac(chain.key, Buffer.from([1]));
  chain.key = hmac(chain.key, Buffer.from([2]));
  chain.counter += 1;
  return seed;
}

function skipTo(chain: ReceivingChain, counter: number): void {
  if (counter - chain.counter > SKIP_MAX) throw new Error('Too many messages are missing');
  while (chain.counter < counter) {
    const at = chain.counter;
    chain.skipped.set(at, advance(chain));
  }
}

function takeKeys(chain: ReceivingChain, counter: number) {
  skipTo(chain, counter);
  if (counter === chain.counter) return expand(advance(chain), counter);
  const seed = chain.skipped.get(counter);
  if (!seed) throw new OpenedBefore();
  chain.skipped.delete(counter);
  return expand(seed, counter);
}

function messageKeys(chain: Chain) {
  const counter = chain.counter;
  return expand(advance(chain), counter);
}

function expand(seed: Buffer, counter: number) {
  const keys = hkdf(seed, 80, 'WhisperMessageKeys');
  return { cipher: keys.subarray(0, 32), mac: keys.subarray(32, 64), iv: keys.subarray(64), counter };
}
