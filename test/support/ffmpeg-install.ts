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
