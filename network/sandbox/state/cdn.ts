/**
 * Where the network keeps media: files by handle, in the data folder or in a temporary one. A handle cannot be guessed;
 * anybody who has it may read.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface StoredFile {
  handle: string;
  size_bytes: number;
  sha256: string;
}

export interface Cdn {
  put(bytes: Buffer): StoredFile;
  /** Stores a stream to its end; throws `too_large` beyond what the network takes. */
  receive(stream: Readable): Promise<StoredFile>;
  /** Null for a handle that the network does not have. */
  open(handle: string): { stream: Readable; sizeBytes: number } | null;
  has(handle: string): boolean;
  /** Removes the folder, when it was a temporary one. */
  close(): void;
}

/** As the real networks have it. */
const MAX_BYTES = 100 * 1024 * 1024;
const HANDLE = /^[A-Za-z0-9_-]{32}$/;

/** The folder is made when the first file comes. */
export function createCdn(dataDir: string | undefined): Cdn {
  let folder: string | undefined;

  function place(): string {
    if (folder) return folder;
    folder = dataDir ? join(dataDir, 'cdn') : mkdtempSync(join(tmpdir(), 'posthorn-sandbox-cdn-'));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  function pathOf(handle: string): string | null {
    return HANDLE.test(handle) ? join(place(), handle) : null;
  }

  function has(handle: string): boolean {
    const path = pathOf(handle);
    return path !== null && existsSync(path);
  }

  return {
    put(bytes) {
      const handle = newHandle();
      writeFileSync(join(place(), handle), bytes, { mode: 0o600 });
      return { handle, size_bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    },
    async receive(stream) {
      const handle = newHandle();
      const path = join(place(), handle);
      const digest = createHash('sha256');
      let sizeBytes = 0;
      const meter = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          sizeBytes += chunk.length;
          if (sizeBytes > MAX_BYTES) return done(new Error('too_large'));
          digest.update(chunk);
          done(null, chunk);
        },
      });
      try {
        await pipeline(stream, meter, createWriteStream(path, { mode: 0o600 }));
      } catch (error) {
        rmSync(path, { force: true });
        throw error;
      }
      return { handle, size_bytes: sizeBytes, sha256: digest.digest('hex') };
    },
    open(handle) {
      const path = pathOf(handle);
      if (!path || !existsSync(path)) return null;
      return { stream: createReadStream(path), sizeBytes: statSync(path).size };
    },
    has,
    close() {
      if (folder && !dataDir) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function newHandle(): string {
  return randomBytes(24).toString('base64url');
}
