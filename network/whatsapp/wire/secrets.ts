/** Opens and seals votes, edits, reactions and comments with the secret of the message that they are about. No I/O. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** The network's names for these four. */
export type SealedUse = 'Poll Vote' | 'Message Edit' | 'Enc Reaction' | 'Enc Comment';

/** Identifies the message with the secret, its author, and who seals. */
export interface SealedFor {
  use: SealedUse;
  id: string;
  author: string;
  sender: string;
  secret: Uint8Array;
}

export interface Sealed {
  encPayload: Uint8Array;
  encIv: Uint8Array;
}

const TAG_BYTES = 16;

export function sealWith(of: SealedFor, plain: Uint8Array): { encPayload: Buffer; encIv: Buffer } {
  const encIv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', keyOf(of), encIv);
  cipher.setAAD(aadOf(of));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return { encPayload: Buffer.concat([sealed, cipher.getAuthTag()]), encIv };
}

/** Null if it was not sealed by this sender for this message. */
export function openWith(of: SealedFor, { encPayload, encIv }: Sealed): Buffer | null {
  if (encPayload.length < TAG_BYTES || encIv.length !== 12) return null;
  try {
    const decipher = createDecipheriv('aes-256-gcm', keyOf(of), encIv, { authTagLength: TAG_BYTES });
    decipher.setAAD(aadOf(of));
    decipher.setAuthTag(encPayload.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(encPayload.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}

function keyOf({ use, id, author, sender, secret }: SealedFor): Buffer {
  const extracted = createHmac('sha256', Buffer.alloc(32)).update(secret).digest();
  const info = Buffer.concat([Buffer.from(`${id}${author}${sender}${use}`), Buffer.of(1)]);
  return createHmac('sha256', extracted).update(info).digest();
}

/** Only votes are bound to more than their key. */
function aadOf({ use, id, sender }: SealedFor): Buffer {
  return Buffer.from(use === 'Poll Vote' ? `${id}\0${sender}` : '');
}
