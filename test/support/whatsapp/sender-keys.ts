import { randomInt } from 'node:crypto';
import { Fields, writeFields } from './fields.ts';
import {
  generateKeys,
  hkdf,
  hmac,
  isSignedBy,
  type Keys,
  openCbc,
  sealCbc,
  sign,
  withoutType,
  withType,
} from './keys.ts';
import { OpenedBefore } from './ratchet.ts';

/** The Signal sender keys of groups and statuses, at a simulated phone's end: one chain for each sender and chat. */

const VERSION = Buffer.from([0x33]);
const SIGNATURE_BYTES = 64;
const SKIP_MAX = 2_000;

/** The key with which a phone sends to a group. */
export class SenderKey {
  readonly #id = randomInt(1, 2 ** 31);
  readonly #signing: Keys = generateKeys();
  #chain = hkdf(generateKeys().private, 32, 'first chain');
  #iteration = 0;

  /** The key data that readers of the next messages need. */
  distribution(): Buffer {
    const body = writeFields([
      [1, this.#id],
      [2, this.#iteration],
      [3, this.#chain],
      [4, withType(this.#signing.public)],
    ]);
    return Buffer.concat([VERSION, body]);
  }

  seal(plain: Uint8Array): Buffer {
    const keys = expand(hmac(this.#chain, Buffer.from([1])));
    const body = writeFields([
      [1, this.#id],
      [2, this.#iteration],
      [3, sealCbc(keys.cipher, keys.iv, plain)],
    ]);
    this.#chain = hmac(this.#chain, Buffer.from([2]));
    this.#iteration += 1;
    const signed = Buffer.concat([VERSION, body]);
    return Buffer.concat([signed, sign(this.#signing.private, signed)]);
  }
}

interface Chain {
  key: Buffer;
  iteration: number;
  signing: Buffer;
  skipped: Map<number, Buffer>;
}

/** The sender keys of others that a phone knows. */
export class KnownSenderKeys {
  readonly #chains = new Map<number, Chain>();

  learn(distribution: Buffer): void {
    const fields = new Fields(distribution.subarray(1));
    const id = fields.number(1);
    // The same key came again: its chain keeps its place.
    if (this.#chains.has(id)) return;
    this.#chains.set(id, {
      key: fields.bytes(3),
      iteration: fields.number(2),
      signing: withoutType(fields.bytes(4)),
      skipped: new Map(),
    });
  }

  /** Throws when the sender's key is unknown, the signature wrong, or the message opened already. */
  open(message: Buffer): Buffer {
    const signed = message.subarray(0, -SIGNATURE_BYTES);
    const fields = new Fields(signed.subarray(1));
    const chain = this.#chains.get(fields.number(1));
    if (!chain) throw new Error('No sender key for this message');
    if (!isSignedBy(chain.signing, signed, message.subarray(-SIGNATURE_BYTES))) {
      throw new Error('Wrong signature of a group message');
    }
    const seed = takeSeed(chain, fields.number(2));
    const keys = expand(seed);
    return openCbc(keys.cipher, keys.iv, fields.bytes(3));
  }
}

function takeSeed(chain: Chain, iteration: number): Buffer {
  if (iteration - chain.iteration > SKIP_MAX) throw new Error('Too many messages are missing');
  const skipped = chain.skipped.get(iteration);
  if (skipped) {
    chain.skipped.delete(iteration);
    return skipped;
  }
  if (iteration < chain.iteration) throw new OpenedBefore();
  let seed: Buffer;
  do {
    seed = hmac(chain.key, Buffer.from([1]));
    if (chain.iteration < iteration) chain.skipped.set(chain.iteration, seed);
    chain.key = hmac(chain.key, Buffer.from([2]));
    chain.iteration += 1;
  } while (chain.iteration <= iteration);
  return seed;
}

function expand(seed: Buffer) {
  const keys = hkdf(seed, 48, 'WhisperGroup');
  return { iv: keys.subarray(0, 16), cipher: keys.subarray(16) };
}
