/**
 * Replaces `zlib` for the library, which unpacks histories and stanzas of any size. A megabyte of zeros packs
 * into a kilobyte: the paired phone, which may run any program, could fill the memory of a process that also
 * serves others.
 */
import * as zlib from 'node:zlib';

/** Part of a history takes a few megabytes. */
export const UNPACKED_MAX_BYTES = 128 * 1024 * 1024;

/** Fails if the data unpacks to more than the maximum. */
export function createInflate(): zlib.Inflate {
  const stream = zlib.createInflate();
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > UNPACKED_MAX_BYTES) stream.destroy(new Error('the unpacked data is too large'));
  });
  return stream;
}

/** Fails if the data unpacks to more than the maximum. */
export function inflate(packed: Uint8Array, done: (err: Error | null, unpacked: Buffer) => void): void {
  zlib.inflate(packed, { maxOutputLength: UNPACKED_MAX_BYTES }, done);
}
