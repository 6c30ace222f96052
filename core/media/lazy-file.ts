import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';

/** The bytes of a file; it is opened by the first read, so one that nobody reads holds nothing open. */
export function lazyFile(path: string): Readable {
  return Readable.from(bytesOf(path), { objectMode: false });
}

async function* bytesOf(path: string): AsyncIterable<Uint8Array> {
  yield* createReadStream(path);
}
