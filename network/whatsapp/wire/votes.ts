/** Poll votes: encrypted under the poll's secret, with options named by their hashes. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

/** Identifies a voter, a poll and its author. */
export interface VoteOf {
  pollId: string;
  pollAuthor: string;
  voter: string;
  secret: Uint8Array;
}

const TAG_BYTES = 16;

/** The hash that stands for an option in a vote. */
export function hashOfOption(option: string): Buffer {
  return createHash('sha256').update(option).digest();
}

export function sealVote(vote: Uint8Array, of: VoteOf): { encPayload: Buffer; encIv: Buffer } {
  const encIv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', keyOf(of), encIv);
  cipher.setAAD(aadOf(of));
  const sealed = Buffer.concat([cipher.update(vote), cipher.final()]);
  return { encPayload: Buffer.concat([sealed, cipher.getAuthTag()]), encIv };
}

/** The vote's bytes; null if it was not sealed by this voter for this poll. */
export function openVote(
  { encPayload, encIv }: { encPayload: Uint8Array; encIv: Uint8Array },
  of: VoteOf,
): Buffer | null {
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

/** The options for a vote's hashes, in the order of the poll; skips unknown hashes. */
export function optionsOf(options: readonly string[], hashes: readonly Uint8Array[]): string[] {
  const chosen = new Set(hashes.map((hash) => Buffer.from(hash).toString('hex')));
  return options.filter((option) => chosen.has(hashOfOption(option).toString('hex')));
}

function keyOf({ pollId, pollAuthor, voter, secret }: VoteOf): Buffer {
  const extracted = createHmac('sha256', Buffer.alloc(32)).update(secret).digest();
  const info = Buffer.concat([Buffer.from(`${pollId}${pollAuthor}${voter}Poll Vote`), Buffer.of(1)]);
  return createHmac('sha256', extracted).update(info).digest();
}

function aadOf({ pollId, voter }: VoteOf): Buffer {
  return Buffer.from(`${pollId}\0${voter}`);
}
