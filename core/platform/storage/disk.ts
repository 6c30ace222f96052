import type { FileHandle } from 'node:fs/promises';
import { access, copyFile, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../process/make-folder.ts';
import { type Storage, StorageError, StorageMissing } from './storage.ts';

const KEY = /^[\w-]+(\/[\w-]+)*$/;
/** Lies beside the objects: a folder without it is not theirs, as the empty one below a disk that is not mounted. */
const MARKER = '.storage';
/** How often a write makes its folder. */
const MOVES = 10;

/**
 * Objects as files under a folder (`DATA_DIR/media`): the default, for one machine or a shared disk. `isInUse` says whether
 * objects were stored before: then an empty folder is not theirs, also when this process was started on it.
 */
export async function createDiskStorage(options: {
  directory: string;
  isInUse?: () => Promise<boolean>;
}): Promise<Storage> {
  const root = path.resolve(options.directory);
  const spoolDir = path.join(root, '.spool');
  makeFolder(spoolDir);
  const { marker, isThere, isGone } = lookAtFolder(root, options.isInUse);

  /** Makes the folder too, and again when the removal of its last object removes it meanwhile. */
  async function moveInto(from: string, target: string): Promise<void> {
    for (let nth = 1; ; nth += 1) {
      if (!(await isThere())) throw new Error('the folder is empty, and objects were stored in it');
      try {
        await mkdir(path.dirname(target), { recursive: true });
        return await move(from, target);
      } catch (err) {
        if (nth === MOVES || !isMissing(err)) throw err;
      }
    }
  }

  function fileOf(key: string): string {
    if (!KEY.test(key)) throw new StorageError('not a key of ours');
    return path.join(root, key);
  }

  return {
    name: 'disk',
    spoolDir,
    writeMemoryBytes: 512 * 1024,
    async put(key, file) {
      const target = fileOf(key);
      try {
        await syncToDisk(file.path);
        await moveInto(file.path, target);
        await syncToDisk(path.dirname(target));
      } catch (cause) {
        throw new StorageError('the file could not be stored', { cause });
      }
    },
    async open(key, range) {
      const file = fileOf(key);
      let handle: FileHandle;
      try {
        handle = await open(file, 'r');
      } catch (cause) {
        if (isMissing(cause) && (await isGone(file).catch(() => false)))
          throw new StorageMissing('no such object', { cause });
        throw new StorageError('the file could not be read', { cause });
      }
      return handle.createReadStream(range ? { start: range.start, end: range.end } : {});
    },
    async remove(key) {
      const file = fileOf(key);
      try {
        await rm(file);
      } catch (cause) {
        if (!isMissing(cause) || !(await isGone(file).catch(() => false)))
          throw new StorageError('the file could not be removed', { cause });
      }
      // Without the mark, only what lies in the folder says that it is ours.
      if (await exists(marker)) await removeEmptyFolders(path.dirname(file), root);
    },
    async close() {},
  };
}

/** Tells whether the disk is there, by the mark in the folder of the objects. */
function lookAtFolder(root: string, isInUse?: () => Promise<boolean>) {
  const marker = path.join(root, MARKER);

  /** Marks the folder of a new installation, or one whose files were copied there. */
  async function isThere(): Promise<boolean> {
    if (await exists(marker)) return true;
    // Another write may have marked it meanwhile, and stored the first object.
    if (!(await hasObjects(root)) && (await isInUse?.())) return exists(marker);
    await (await open(marker, 'a')).close();
    return true;
  }

  /**
   * Whether the disk is there and the file is not. The file was missing a moment ago, perhaps with the disk: so it is looked for
   * again, between two looks at the mark.
   */
  async function isGone(file: string): Promise<boolean> {
    return (await isThere()) && !(await exists(file)) && (await isThere());
  }

  return { marker, isThere, isGone };
}

/** Up to the folder `root`, which stays. */
async function removeEmptyFolders(folder: string, root: string): Promise<void> {
  for (let at = folder; at !== root; at = path.dirname(at)) {
    try {
      await rmdir(at);
    } catch {
      // It holds something, or is gone.
      return;
    }
  }
}

/**
 * A rename is atomic: nobody sees half an object. From another file system, the file is first copied next to its
 * destination.
 */
async function move(from: string, target: string): Promise<void> {
  try {
    await rename(from, target);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EXDEV') throw err;
    const beside = `${target}.part`;
    try {
      await copyFile(from, beside);
      await syncToDisk(beside);
      await rename(beside, target);
    } finally {
      await rm(beside, { force: true });
    }
  }
}

/** Syncs a file, or the entries of a folder: without it a power cut loses what was answered as stored. */
async function syncToDisk(target: string): Promise<void> {
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Whether a file lies in it or below; what begins with a dot does not count. A write that was under way when the disk was
 * taken away may leave empty folders.
 */
async function hasObjects(folder: string): Promise<boolean> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    if (!entry.isDirectory() || (await hasObjects(path.join(folder, entry.name)))) return true;
  }
  return false;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function isMissing(err: unknown): boolean {
  const code = (err as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
