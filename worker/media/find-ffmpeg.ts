import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;

/** An ffmpeg that may be given what strangers made. */
export interface Ffmpeg {
  path: string;
  /** What it runs in, before its own path; empty where this machine has nothing of the kind. */
  wrap: readonly string[];
}

export interface FoundFfmpeg {
  ffmpeg: Ffmpeg | null;
  /** Why there is none, in words that an operator can act on. */
  problem?: string;
}

/** Of ffmpeg 5.1, which distributions still mend. Its library tells it for development builds as well. */
const LIBAVUTIL_MIN = [57, 28] as const;
const NEEDED = 'ffmpeg 5.1 or newer (Debian and Ubuntu: apt-get install ffmpeg; macOS: brew install ffmpeg)';

/**
 * The ffmpeg program: FFMPEG_PATH, else the one on PATH, else the one that npm's ffmpeg-static downloaded. That one is the
 * last, since it is a build of some year, which nobody mends, and ffmpeg reads the files of strangers. A
 * FFMPEG_PATH that does not run, or is too old, throws: somebody meant it. `from` is the module beside which
 * ffmpeg-static is looked for.
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
    throw new Error(`FFMPEG_PATH: this program does not run or is no ${NEEDED}`);
  return { ffmpeg: null, problem };
}

/** Absolute, since the program runs without an environment. */
function onPath(): string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  const name = process.platform === 'win32' ? 'ffmpeg.exe' : 'ffmpeg';
  return folders.map((folder) => path.resolve(folder, name));
}

/**
 * An optional dependency: npm leaves it out when its download failed, and keeps it without a program where install scripts
 * do not run.
 */
function fromNpm(from: string): string[] {
  try {
    const program: unknown = createRequire(from)('ffmpeg-static');
    return typeof program === 'string' ? [program] : [];
  } catch {
    return [];
  }
}

/** What it says of itself; null when it does not run. */
async function versionOf(program: string): Promise<string | null> {
  return run(program, ['-hide_banner', '-version'], { timeout: TIMEOUT_MS }).then(
    ({ stdout }) => stdout,
    () => null,
  );
}

/** `libavutil      57. 28.100 / 57. 28.100`: what runs is the second. */
export function isRecent(version: string): boolean {
  const found = /^libavutil .*\/ *(\d+)\. *(\d+)\./m.exec(version);
  if (!found) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > LIBAVUTIL_MIN[0] || (major === LIBAVUTIL_MIN[0] && minor >= LIBAVUTIL_MIN[1]);
}

const UNSHARE = ['/usr/bin/unshare', '--user', '--map-root-user', '--net', '--'];

/** A network namespace with nothing in it, where the kernel gives one to everybody; many containers don't. */
async function withoutNetwork(): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [];
  const [program, ...args] = UNSHARE as [string, ...string[]];
  return run(program, [...args, '/bin/true'], { timeout: TIMEOUT_MS }).then(
    () => UNSHARE,
    () => [],
  );
}
