import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const run = promisify(execFile);
// Optional packages: an `import` of one that is not installed would not compile.
const require = createRequire(import.meta.url);

/**
 * The ffmpeg program: FFMPEG_PATH, then what the package ffmpeg-static has downloaded, the one on PATH, and
 * the older one that @ffmpeg-installer carries along. Each is run once, since a file that is there need not
 * be for this machine. Null when none runs. A FFMPEG_PATH that does not run throws: somebody meant it.
 */
export async function findFfmpeg(options: { path?: string | undefined }): Promise<string | null> {
  if (options.path !== undefined) {
    if (await runs(options.path)) return options.path;
    throw new Error('FFMPEG_PATH: this program does not run');
  }
  const candidates = [
    async () => require('ffmpeg-static') as string | null,
    async () => 'ffmpeg',
    async () => {
      const { path } = require('@ffmpeg-installer/ffmpeg') as { path: string };
      // Its install script makes it executable, and install scripts are often switched off.
      await chmod(path, 0o755).catch(() => undefined);
      return path;
    },
  ];
  for (const candidate of candidates) {
    // Not installed, or without a build for this machine.
    const path = await candidate().catch(() => null);
    if (path && (await runs(path))) return path;
  }
  return null;
}

async function runs(path: string): Promise<boolean> {
  return run(path, ['-hide_banner', '-version'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}
