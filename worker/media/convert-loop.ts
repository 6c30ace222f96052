import type { Ffmpeg } from './find-ffmpeg.ts';
import { runFfmpeg } from './run-ffmpeg.ts';

export const LOOP_TYPE = 'video/mp4';

/** Scales down to at most 640 wide and 4096 high; only extremely tall images reach the height limit. */
const SCALE = 'min(1,min(640/iw,4096/ih))';
/** yuv420p needs even sides, so the minimum is 2 x 2, even for a picture of one pixel. */
const SIDES = `w='2*max(1,trunc(iw*${SCALE}/2))':h='2*max(1,round(ih*${SCALE}/2))'`;

/** The format phones play in a loop: H.264 without sound, with even sides, the index in front. */
const LOOP = [
  ...['-map', '0:v:0', '-an', '-sn', '-dn', '-map_metadata', '-1', '-t', '60'],
  ...['-vf', `scale=${SIDES}:flags=bilinear`, '-r', '25'],
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '26', '-pix_fmt', 'yuv420p', '-threads', '1'],
  ...['-movflags', '+faststart', '-f', 'mp4'],
];

/** Makes the looping animation of a GIF (MED-19). Throws ConversionFailed. */
export async function convertLoop(
  ffmpeg: Ffmpeg,
  files: { input: string; output: string },
  signal: AbortSignal,
): Promise<void> {
  await runFfmpeg(ffmpeg, { input: files.input, output: [...LOOP, `file:${files.output}`] }, signal);
}
