import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '@posthorn/core/platform/run-main.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;

/** An ffmpeg that may read files made by strangers. */
export interface Ffmpeg {
  path: string;
  /** The command that isolates it, placed before its own path; empty if this machine has none. */
  wrap: readonly string[];
}

export interface FoundFfmpeg {
  ffmpeg: Ffmpeg | null;
  /** Why there is none, as a message an operator can act on. */
  problem?: string;
}

/**
 * The libavutil of ffmpeg 5.1, which distributions still patch. Unlike ffmpeg's version, it also identifies
 * development builds.
 */
const LIBAVUTIL_MIN = [57, 28] as const;
const NEEDED = 'ffmpeg 5.1 or newer (Debian and Ubuntu: apt-get install ffmpeg; macOS: brew install ffmpeg)';

/**
 * Finds the ffmpeg program: FFMPEG_PATH, else the one on PATH, else the one that npm's ffmpeg-static
 * downloaded. The last is an old build that gets no fixes, and ffmpeg reads files made by strangers. Throws
 * if FFMPEG_PATH does not run or is too old, because someone set it on purpose. ffmpeg-static is looked up
 * beside the module `from`.
 */
export async function findFfmpeg(options: {
  path?: string | undefined;
  from?: string;
}): Promise<FoundFfmpeg> {
  const { from = import.meta.url } = options;
  const candidates = options.path === undefined ? [...onPath(), ...fromNpm(from)] : [options.path];
  let problem = `no ffmpeg found: install ${NEEDED}`;
  for (const candidate of candidates) {
    const version = await versionOf(candidate);
    if (version === null) continue;
    if (isRecent(version)) return { ffmpeg: { path: candidate, wrap: await withoutNetwork() } };
    problem = `${candidate} is too old: install ${NEEDED}`;
  }
  if (options.path !== undefined)
    throw new StartError(`FFMPEG_PATH: this program does not run or is no ${NEEDED}`);
  return { ffmpeg: null, problem };
}

/** Absolute paths, because the program runs without an environment. */
function onPath(): string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  const name = process.platform === 'win32' ? 'ffmpeg.exe' : 'ffmpeg';
  return folders.map((folder) => path.resolve(folder, name));
}

/**
 * ffmpeg-static is an optional dependency: npm omits it if its download failed, and installs it without the
 * program where install scripts do not run.
 */
function fromNpm(from: string): string[] {
  try {
    const program: unknown = createRequire(from)('ffmpeg-static');
    return typeof program === 'string' ? [program] : [];
  } catch {
    return [];
  }
}

/** The program's version output; null if it does not run. */
async function versionOf(program: string): Promise<string | null> {
  return run(program, ['-hide_banner', '-version'], { timeout: TIMEOUT_MS }).then(
    ({ stdout }) => stdout,
    () => null,
  );
}

/** In `libavutil      57. 28.100 / 57. 28.100`, the second version is the one that runs. */
export function isRecent(version: string): boolean {
  const found = /^libavutil .*\/ *(\d+)\. *(\d+)\./m.exec(version);
  if (!found) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > LIBAVUTIL_MIN[0] || (major === LIBAVUTIL_MIN[0] && minor >= LIBAVUTIL_MIN[1]);
}

const UNSHARE = ['/usr/bin/unshare', '--user', '--map-root-user', '--net', '--'];

let wrap: Promise<readonly string[]> | undefined;

/**
 * An empty network namespace, if the kernel lets unprivileged processes create one; many containers don't. A process
 * tries it once.
 */
function withoutNetwork(): Promise<readonly string[]> {
  wrap ??= tryNamespace();
  return wrap;
}

async function tryNamespace(): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [];
  const [program, ...args] = UNSHARE as [string, ...string[]];
  return run(program, [...args, '/bin/true'], { timeout: TIMEOUT_MS }).then(
    () => UNSHARE,
    () => [],
  );
}
