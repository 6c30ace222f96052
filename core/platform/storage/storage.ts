import type { Readable } from 'node:stream';

/**
 * Where the bytes of media are stored: a folder or a bucket. Objects are written once, whole or not at all, and
 * never changed; their names are ours and say nothing about their content.
 */
export interface Storage {
  readonly name: 'disk' | 'gcs' | 's3';
  /** A folder for incoming files, on the same file system as the objects where those are files. */
  readonly spoolDir: string;
  /** Maximum memory of one write. */
  readonly writeMemoryBytes: number;
  /**
   * Stores a file under `key`, durably once it resolves. The file may be moved away by it. Throws
   * {@link StorageError}.
   */
  put(key: string, file: { path: string; sizeBytes: number }, options: { mimeType: string }): Promise<void>;
  /**
   * Reads an object, or the bytes `start` to `end`, both included. Throws {@link StorageMissing}, or
   * {@link StorageError} before the first byte; what breaks later is an error of the stream.
   */
  open(key: string, range?: { start: number; end: number }): Promise<Readable>;
  /** Removes an object; one that is not there is removed already. Throws {@link StorageError}. */
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

/** The storage could not do it now: unreachable, full, or refusing. */
export class StorageError extends Error {
  override name = 'StorageError';
}

export class StorageMissing extends Error {
  override name = 'StorageMissing';
}

const DISK_TROUBLE: ReadonlySet<unknown> = new Set(
  'ENOSPC EDQUOT EROFS EIO EMFILE ENFILE EACCES EPERM'.split(' '),
);

/** Whether an error comes from the storage or the disk before it, and so says nothing about what was stored. */
export function isStorageTrouble(err: unknown): boolean {
  for (let cause = err; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StorageError || DISK_TROUBLE.has((cause as NodeJS.ErrnoException).code)) return true;
  }
  return false;
}
