import { createHash, randomUUID } from 'node:crypto';
import { open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { apiError } from '@posthorn/contract/api-error.ts';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { HOUR_MS } from '../platform/durations.ts';
import { makeFolder } from '../platform/process/make-folder.ts';
import { MediaRejected } from './media-rejected.ts';

/** Incoming media: complete, measured, in a file of its own. */
export interface SpooledFile {
  path: string;
  sizeBytes: number;
  /** Hex SHA-256. */
  sha256: string;
  /** Removes the file if it is still there. Never throws. */
  discard(): Promise<void>;
}

/**
 * Media is written to a file before anything else looks at it. So it costs the memory of one chunk whatever its
 * size, its type can be detected from any part of it, refused media never reaches the storage, and the storage gets
 * a file of known size (a rename, on disk).
 */
export interface Spool {
  /**
   * Writes a source to its end. Throws {@link MediaRejected} `empty`, `too_large` (the rest of the source is then
   * left unread) or `unreadable`, and 503 when the disk is full. A throw leaves no file behind.
   */
  write(source: AsyncIterable<Uint8Array>, options?: { maxBytes?: number }): Promise<SpooledFile>;
  /** Removes the files of a process that was killed; returns their number. */
  sweep(now: Date): Promise<number>;
}

/** Longer than any upload may take. */
const ABANDONED_MS = HOUR_MS;

export function createSpool(options: { directory: string }): Spool {
  const { directory } = options;
  return {
    async write(source, { maxBytes = MEDIA_MAX_BYTES } = {}) {
      const file = path.join(directory, randomUUID());
      const discard = () => rm(file, { force: true }).catch(() => undefined);
      try {
        const { sizeBytes, sha256 } = await writeTo(file, source, maxBytes);
        return { path: file, sizeBytes, sha256, discard };
      } catch (err) {
        await discard();
        throw err;
      }
    },
    async sweep(now) {
      let removed = 0;
      for (const name of await readdir(directory)) {
        const file = path.join(directory, name);
        const found = await stat(file).catch(() => null);
        if (!found || now.getTime() - found.mtimeMs < ABANDONED_MS) continue;
        await rm(file, { recursive: true, force: true });
        removed += 1;
      }
      return removed;
    },
  };
}

/** Creates the folder too. */
export async function openSpool(directory: string): Promise<Spool> {
  makeFolder(directory);
  return createSpool({ directory });
}

async function writeTo(
  file: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ sizeBytes: number; sha256: string }> {
  const handle = await open(file, 'wx', 0o600).catch(failedDisk);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    for await (const chunk of readable(source)) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) throw new MediaRejected('too_large');
      hash.update(chunk);
      await handle.write(chunk).catch(failedDisk);
    }
    if (sizeBytes === 0) throw new MediaRejected('empty');
    return { sizeBytes, sha256: hash.digest('hex') };
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** Failures of the source, as opposed to ours; the source is not destroyed: its owner may have to drain it. */
async function* readable(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next().catch((cause: unknown) => {
      if (cause instanceof MediaRejected) throw cause;
      throw new MediaRejected('unreadable', { cause });
    });
    if (next.done) return;
    yield next.value;
  }
}

function failedDisk(cause: unknown): never {
  throw apiError('SERVICE_UNAVAILABLE', {
    message: 'no room to receive media at the moment, try again later',
    headers: { 'retry-after': '30' },
    cause,
  });
}
