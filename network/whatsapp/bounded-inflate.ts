/**
 * What the library gets in place of `zlib`. It unpacks whatever a history or a stanza has become, and a megabyte of
 * zeros packs into a kilobyte: the paired phone, which may be anybody's program, could fill the memory of a process
 * that serves others as well.
 */
import * as zlib from 'node:zlib';

/** A part of a history has a few megabytes. */
export const UNPACKED_MAX_BYTES = 128 * 1024 * 1024;

/** Fails with what unpacks to more. */
export function createInflate(): zlib.Inflate {
  const stream = zlib.createInflate();
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > UNPACKED_MAX_BYTES) stream.destroy(new Error('what was packed is too large'));
  });
  return stream;
}

/** Fails with what unpacks to more. */
export function inflate(packed: Uint8Array, done: (err: Error | null, unpacked: Buffer) => void): void {
  zlib.inflate(packed, { maxOutputLength: UNPACKED_MAX_BYTES }, done);
}
