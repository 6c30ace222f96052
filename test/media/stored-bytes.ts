import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Storage } from '@posthorn/core/platform/storage/storage.ts';

/** Stores bytes by way of a file in the spool folder, as uploads come. */
export async function storeBytes(storage: Storage, key: string, bytes: Buffer): Promise<void> {
  const file = path.join(storage.spoolDir, randomUUID());
  await writeFile(file, bytes);
  try {
    await storage.put(key, { path: file, sizeBytes: bytes.length }, { mimeType: 'image/jpeg' });
  } finally {
    await rm(file, { force: true });
  }
}
