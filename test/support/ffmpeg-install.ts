import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findFfmpeg } from '@posthorn/worker/media/find-ffmpeg.ts';
import { installDebianPackage, isDebianRoot } from './debian-package.ts';

/**
 * Gives the path of an ffmpeg to convert with, after installing Debian's package when there is none and we are root. Throws one
 * line with the package to install: no test is skipped because it is missing.
 */
export async function ensureFfmpeg(): Promise<string> {
  const found = await findFfmpeg({});
  if (found.ffmpeg) return found.ffmpeg.path;
  if (isDebianRoot()) installDebianPackage('ffmpeg');
  const { ffmpeg, problem } = await findFfmpeg({});
  if (ffmpeg === null) throw new Error(`The tests need ffmpeg and ffprobe on PATH: ${problem}`);
  return ffmpeg.path;
}

/**
 * Puts a script in `dir` first on PATH that answers `-version` as the ffmpeg at `program` does, and runs that one for
 * everything else. Every worker asks for the version when it starts, and Debian's ffmpeg loads 200 libraries for that,
 * a quarter of a second of CPU: with some 250 workers 3.5 % of a whole run.
 */
export function quickenFfmpeg(program: string, dir: string): void {
  const version = execFileSync(program, ['-hide_banner', '-version'], { encoding: 'utf8' });
  mkdirSync(dir);
  writeFileSync(
    path.join(dir, 'ffmpeg'),
    `#!/bin/sh
case "$*" in
  '-hide_banner -version') printf '%s' ${quoted(version)} ;;
  *) exec ${quoted(program)} "$@" ;;
esac
`,
    { mode: 0o755 },
  );
  process.env.PATH = `${dir}${path.delimiter}${process.env.PATH}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
