/** Poll votes, in which options are named by their hashes. */
import { createHash } from 'node:crypto';

/** The hash that stands for an option in a vote. */
export function hashOfOption(option: string): Buffer {
  return createHash('sha256').update(option).digest();
}

/** The options for a vote's hashes, in the order of the poll; skips unknown hashes. */
export function optionsOf(options: readonly string[], hashes: readonly Uint8Array[]): string[] {
  const chosen = new Set(hashes.map((hash) => Buffer.from(hash).toString('hex')));
  return options.filter((option) => chosen.has(hashOfOption(option).toString('hex')));
}
