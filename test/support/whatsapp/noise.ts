import { Fields, writeFields } from './fields.ts';
import { agree, generateKeys, hkdf, type Keys, openGcm, sealGcm, sha256, sign } from './keys.ts';

/** The network's end of the handshake: Noise XX with X25519, AES-GCM and SHA-256, and the frames after it. */

const PROTOCOL: Buffer = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0');
const HEADER = Buffer.from([0x57, 0x41, 6, 3]);

/** The identity of the servers of a network: the root that clients trust, and the certificate under it. */
export interface ServerIdentity {
  root: Keys;
  server: Keys;
  certificate: Buffer;
}

/** The part of a certificate that is made wrong, for tests that it is refused. */
export type CertificateFault = 'wrong_leaf' | 'wrong_intermediate' | 'foreign_root' | 'foreign_server';

export function createIdentity(root: Keys = generateKeys(), fault?: CertificateFault): ServerIdentity {
  const between = generateKeys();
  const server = generateKeys();
  const signer = fault === 'foreign_root' ? generateKeys() : root;
  const serial = 7;
  const intermediate = certificate({ serial, issuer: 0, key: between.public }, signer);
  const leaf = certificate({ serial: serial + 1, issuer: serial, key: server.public }, between);
  if (fault === 'wrong_intermediate') spoil(intermediate.signature);
  if (fault === 'wrong_leaf') spoil(leaf.signature);
  const write = ({ details, signature }: typeof leaf) =>
    writeFields([
      [1, details],
      [2, signature],
    ]);
  return {
    root,
    // A genuine certificate, shown by a server that does not own it.
    server: fault === 'foreign_server' ? generateKeys() : server,
    certificate: writeFields([
      [1, write(leaf)],
      [2, write(intermediate)],
    ]),
  };
}

/** The state of one connection: bytes in, frames out, and the other way. */
export class NoiseServer {
  #hash: Buffer = PROTOCOL;
  #salt: Buffer = PROTOCOL;
  #key: Buffer = PROTOCOL;
  #counter = 0;
  #received: Buffer = Buffer.alloc(0);
  #sawHeader = false;
  #transport: { read: Buffer; write: Buffer; reads: number; writes: number } | null = null;
  readonly #ephemeral = generateKeys();
  readonly #identity: ServerIdentity;

  constructor(identity: ServerIdentity) {
    this.#identity = identity;
  }

  /** The whole frames in the bytes received so far, still sealed. Throws when no such client can have sent them. */
  receive(data: Buffer): Buffer[] {
    this.#received = Buffer.concat([this.#received, data]);
    if (!this.#sawHeader && !this.#takeHeader()) return [];
    const frames: Buffer[] = [];
    while (this.#received.length >= 3) {
      const size = this.#received.readUIntBE(0, 3);
      if (this.#received.length < size + 3) break;
      frames.push(Buffer.from(this.#received.subarray(3, size + 3)));
      this.#received = this.#received.subarray(size + 3);
    }
    return frames;
  }

  get isReady(): boolean {
    return this.#transport !== null;
  }

  /** The answer to the client's first frame. */
  hello(frame: Buffer): Buffer {
    const theirs = new Fields(frame).within(2).bytes(1);
    this.#mixHash(HEADER);
    this.#mixHash(theirs);
    this.#mixHash(this.#ephemeral.public);
    this.#mixKey(agree(this.#ephemeral.private, theirs));
    const fixed = this.#seal(this.#identity.server.public);
    this.#mixKey(agree(this.#identity.server.private, theirs));
    const payload = this.#seal(this.#identity.certificate);
    const hello = writeFields([
      [1, this.#ephemeral.public],
      [2, fixed],
      [3, payload],
    ]);
    return frameOf(writeFields([[3, hello]]));
  }

  /** The content of the client's second frame: its key, and its identity. From here on frames are sealed. */
  finish(frame: Buffer): { clientKey: Buffer; payload: Buffer } {
    const finish = new Fields(frame).within(4);
    const clientKey = this.#open(finish.bytes(1));
    this.#mixKey(agree(this.#ephemeral.private, clientKey));
    const payload = this.#open(finish.bytes(2));
    const keys = hkdf(Buffer.alloc(0), 64, '', this.#salt);
    this.#transport = { read: keys.subarray(0, 32), write: keys.subarray(32), reads: 0, writes: 0 };
    return { clientKey, payload };
  }

  openFrame(frame: Buffer): Buffer {
    const state = this.#ready();
    state.reads += 1;
    return openGcm(state.read, iv(state.reads - 1), frame, Buffer.alloc(0));
  }

  sealFrame(data: Uint8Array): Buffer {
    const state = this.#ready();
    state.writes += 1;
    return frameOf(sealGcm(state.write, iv(state.writes - 1), data, Buffer.alloc(0)));
  }

  /** The first bytes: the protocol's name, with the route that an earlier login was given before it. */
  #takeHeader(): boolean {
    let at = 0;
    if (this.#received.subarray(0, 2).equals(Buffer.from('ED'))) {
      if (this.#received.length < 7) return false;
      at = 7 + this.#received.readUIntBE(4, 3);
    }
    if (this.#received.length < at + HEADER.length) return false;
    if (!this.#received.subarray(at, at + HEADER.length).equals(HEADER)) throw new Error('No such protocol');
    this.#received = this.#received.subarray(at + HEADER.length);
    this.#sawHeader = true;
    return true;
  }

  #ready() {
    if (this.#transport === null) throw new Error('The handshake is not done');
    return this.#transport;
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = sha256(this.#hash, data);
  }

  #mixKey(secret: Buffer): void {
    const keys = hkdf(secret, 64, '', this.#salt);
    this.#salt = keys.subarray(0, 32);
    this.#key = keys.subarray(32);
    this.#counter = 0;
  }

  #seal(plain: Uint8Array): Buffer {
    const sealed = sealGcm(this.#key, iv(this.#counter), plain, this.#hash);
    this.#counter += 1;
    this.#mixHash(sealed);
    return sealed;
  }

  #open(sealed: Buffer): Buffer {
    const plain = openGcm(this.#key, iv(this.#counter), sealed, this.#hash);
    this.#counter += 1;
    this.#mixHash(sealed);
    return plain;
  }
}

function certificate(details: { serial: number; issuer: number; key: Buffer }, signer: Keys) {
  const written = writeFields([
    [1, details.serial],
    [2, details.issuer],
    [3, details.key],
  ]);
  return { details: written, signature: sign(signer.private, written) };
}

function spoil(signature: Buffer): void {
  signature[40] = signature[40]! ^ 1;
}

function frameOf(data: Buffer): Buffer {
  const length = Buffer.alloc(3);
  length.writeUIntBE(data.length, 0, 3);
  return Buffer.concat([length, data]);
}

function iv(counter: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(counter, 8);
  return bytes;
}
