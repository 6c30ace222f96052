import { mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { atMostEvery } from './at-most-every.ts';
import { NotReady } from './readiness.ts';

const REPEAT_AFTER_MS = 5_000;
/** Some file systems keep a few bytes in the entry itself, for which a full disk has room. */
const PROBE_BYTES = 64 * 1024;

/**
 * A check that a folder takes files, by writing one to the disk and removing it; its outcome holds for some
 * seconds. The folder is made when it is missing.
 */
export function createFolderProbe(folder: string): () => Promise<void> {
  const file = path.join(folder, `.probe-${process.pid}`);
  return atMostEvery(REPEAT_AFTER_MS, async () => {
    try {
      await mkdir(folder, { recursive: true });
      await writeAndSync(file);
    } catch (cause) {
      const isFull = ['ENOSPC', 'EDQUOT'].includes(String((cause as { code?: unknown }).code));
      throw new NotReady(isFull ? 'takes no files: the disk is full' : 'takes no files', { cause });
    } finally {
      await rm(file, { force: true }).catch(() => undefined);
    }
  });
}

async function writeAndSync(file: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(Buffer.alloc(PROBE_BYTES));
    await handle.sync();
  } finally {
    await handle.close();
  }
}
