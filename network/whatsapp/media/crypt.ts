/**
 * The encryption of the network's media: AES-256-CBC with a MAC over the result, under keys derived from the
 * media's own key. Streamed both ways: only the last blocks are held in memory.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import type { MediaUse } from '../wire/inbound-media.ts';

const MAC_BYTES = 10;
const INFO: Record<MediaUse, string> = {
  image: 'WhatsApp Image Keys',
  video: 'WhatsApp Video Keys',
  audio: 'WhatsApp Audio Keys',
  document: 'WhatsApp Document Keys',
};

function keysOf(mediaKey: Uint8Array, use: MediaUse) {
  const expanded = Buffer.from(hkdfSync('sha256', mediaKey, '', INFO[use], 112));
  return {
    iv: expanded.subarray(0, 16),
    cipherKey: expanded.subarray(16, 48),
    macKey: expanded.subarray(48, 80),
  };
}

/** The hashes of the streamed bytes, available at the end. */
export interface MediaHashes {
  fileSha256: Buffer;
  fileEncSha256: Buffer;
  fileLength: number;
}

/** Encrypts a stream. The same key gives the same bytes again. */
export function createEncryptor(mediaKey: Uint8Array, use: MediaUse): Transform & { hashes(): MediaHashes } {
  const { iv, cipherKey, macKey } = keysOf(mediaKey, use);
  const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
  const mac = createHmac('sha256', macKey).update(iv);
  const plain = createHash('sha256');
  const encrypted = createHash('sha256');
  let fileLength = 0;
  let hashes: MediaHashes | undefined;

  function out(bytes: Buffer): Buffer {
    mac.update(bytes);
    encrypted.update(bytes);
    return bytes;
  }

  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      plain.update(chunk);
      fileLength += chunk.length;
      done(null, out(cipher.update(chunk)));
    },
    flush(done) {
      const last = out(cipher.final());
      const tag = mac.digest().subarray(0, MAC_BYTES);
      encrypted.update(tag);
      hashes = { fileSha256: plain.digest(), fileEncSha256: encrypted.digest(), fileLength };
      done(null, Buffer.concat([last, tag]));
    },
  });
  return Object.assign(stream, {
    hashes() {
      if (!hashes) throw new Error('the media has not been read to its end');
      return hashes;
    },
  });
}

/** The downloaded bytes are not those that the message names; another download would bring the same. */
export class MediaTampered extends SendRefused {
  override name = 'MediaTampered';
  constructor(message: string) {
    super('media_invalid', message);
  }
}

/**
 * Decrypts a stream. Fails with {@link MediaTampered} at the end if the MAC, or the hash of the plain bytes
 * if there is one, does not match: the reader must not store the bytes before the end.
 */
export function createDecryptor(mediaKey: Uint8Array, use: MediaUse, fileSha256: string): Transform {
  const { iv, cipherKey, macKey } = keysOf(mediaKey, use);
  const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv);
  const mac = createHmac('sha256', macKey).update(iv);
  const plain = createHash('sha256');
  /** Held back, because the last bytes may be the MAC. */
  let held: Buffer = Buffer.alloc(0);

  function out(bytes: Buffer): Buffer {
    plain.update(bytes);
    return bytes;
  }

  function lastBytes(): Buffer {
    if (held.length < MAC_BYTES || !mac.digest().subarray(0, MAC_BYTES).equals(held))
      throw new MediaTampered('the MAC of the media does not fit');
    const last = out(lastBlock());
    if (fileSha256 !== '' && plain.digest('hex') !== fileSha256)
      throw new MediaTampered('the hash of the media does not fit');
    return last;
  }

  function lastBlock(): Buffer {
    try {
      return decipher.final();
    } catch {
      throw new MediaTampered('the padding of the media does not fit');
    }
  }

  function end(done: TransformCallback): void {
    try {
      done(null, lastBytes());
    } catch (err) {
      done(err as Error);
    }
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const all = Buffer.concat([held, chunk]);
      const body = all.subarray(0, Math.max(0, all.length - MAC_BYTES));
      held = Buffer.from(all.subarray(body.length));
      mac.update(body);
      done(null, out(decipher.update(body)));
    },
    flush: end,
  });
}
