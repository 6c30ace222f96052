import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findFfmpeg } from '@posthorn/worker/media/find-ffmpeg.ts';
import { installDebianPackage, isDebianRoot } from './debian-package.ts';

/**
 * Makes sure that there is an ffmpeg to convert with, installing Debian's package when we are root there. Throws one
 * line with the package to install: no test is skipped because it is missing.
 */
export async function ensureFfmpeg(): Promise<void> {
  if ((await findFfmpeg({})).ffmpeg) return;
  if (isDebianRoot()) installDebianPackage('ffmpeg');
  const { ffmpeg, problem } = await findFfmpeg({});
  if (ffmpeg === null) throw new Error(`The tests need ffmpeg and ffprobe on PATH: ${problem}`);
}

/**
 * Puts a script in `dir` first on PATH that answers `-version` as this machine's ffmpeg does, and runs that ffmpeg for
 * everything else. Every worker asks for the version when it starts, and Debian's ffmpeg loads 200 libraries for that,
 * a quarter of a second of CPU: with some 250 workers 4 % of a whole run.
 */
export async function quickenFfmpeg(dir: string): Promise<void> {
  const { ffmpeg } = await findFfmpeg({});
  if (ffmpeg === null) return;
  const version = execFileSync(ffmpeg.path, ['-hide_banner', '-version'], { encoding: 'utf8' });
  mkdirSync(dir);
  writeFileSync(
    path.join(dir, 'ffmpeg'),
    `#!/bin/sh
case "$*" in
  '-hide_banner -version') printf '%s' ${quoted(version)} ;;
  *) exec ${quoted(ffmpeg.path)} "$@" ;;
esac
`,
    { mode: 0o755 },
  );
  process.env.PATH = `${dir}${path.delimiter}${process.env.PATH}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
