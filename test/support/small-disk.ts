import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { chooseServerUser } from '@posthorn/standalone/src/embedded-postgres/server-user.ts';
import { makeReachableDir } from './reachable-dir.ts';
import { reap } from './reaper.ts';

/** A file system of its own that a test may fill to the last byte. */
export interface SmallDisk {
  dir: string;
  fill(): void;
  /** Frees the space that `fill` took. */
  free(): void;
  remove(): void;
}

/** Null where this process may not mount: an ordinary user, or a container without the right to. */
export function makeSmallDisk(sizeMb: number): SmallDisk | null {
  const as = chooseServerUser();
  const dir = makeReachableDir('posthorn-disk-', as);
  try {
    const owner = as.uid === undefined ? '' : `,uid=${as.uid},gid=${as.gid}`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=0777${owner}`, 'tmpfs', dir], {
      stdio: 'pipe',
    });
  } catch {
    rmSync(dir, { recursive: true });
    return null;
  }
  const forget = reap({ command: ['umount', '--lazy', dir] });
  const ballast = path.join(dir, 'ballast');
  return {
    dir,
    fill() {
      const file = openSync(ballast, 'a');
      try {
        for (const size of [1024 * 1024, 4096]) writeUntilFull(file, Buffer.alloc(size));
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast, { force: true }),
    remove() {
      execFileSync('umount', ['--lazy', dir]);
      rmSync(dir, { recursive: true });
      forget();
    },
  };
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    for (;;) writeSync(file, block);
  } catch (err) {
    if ((err as { code?: string }).code !== 'ENOSPC') throw err;
  }
}
