import type { Ffmpeg } from './find-ffmpeg.ts';
import { ConversionFailed, runFfmpeg } from './run-ffmpeg.ts';

export interface VideoLook {
  widthPx?: number;
  heightPx?: number;
  durationS?: number;
  /** JPEG, base64. */
  thumbnail?: string;
}

const THUMBNAIL_PX = 200;
const THUMBNAIL_MAX_BYTES = 64 * 1024;

/** The first frame, which even the shortest video has. */
const THUMBNAIL = [
  ...['-map', '0:v:0', '-an', '-sn', '-dn', '-frames:v', '1'],
  ...[
    '-vf',
    `scale=w='min(${THUMBNAIL_PX},iw)':h='min(${THUMBNAIL_PX},ih)':force_original_aspect_ratio=decrease`,
  ],
  ...['-c:v', 'mjpeg', '-q:v', '8', '-f', 'image2pipe', 'pipe:1'],
];

/**
 * The size, length and first frame of a video. Throws {@link ConversionFailed} if no frame can be decoded.
 */
export async function inspectVideo(ffmpeg: Ffmpeg, input: string, signal: AbortSignal): Promise<VideoLook> {
  const chunks: Buffer[] = [];
  const { report } = await runFfmpeg(
    ffmpeg,
    { input, output: THUMBNAIL, onData: (chunk) => chunks.push(chunk) },
    signal,
  );
  const picture = Buffer.concat(chunks);
  if (picture.length === 0) throw new ConversionFailed('there is no picture in it');
  return {
    ...readReport(report),
    ...(picture.length <= THUMBNAIL_MAX_BYTES ? { thumbnail: picture.toString('base64') } : {}),
  };
}

/** The length of an audio file that is sent unconverted. */
export async function inspectSound(
  ffmpeg: Ffmpeg,
  input: string,
  signal: AbortSignal,
): Promise<{ durationS?: number }> {
  // Copies the packets to nowhere to count them, which is right even if the file's header is not.
  const { report } = await runFfmpeg(
    ffmpeg,
    { input, output: ['-map', '0:a:0', '-c', 'copy', '-f', 'null', '-'] },
    signal,
  );
  const { durationS } = readReport(report);
  return durationS === undefined ? {} : { durationS };
}

const VIDEO = ': Video: ';

/**
 * Width and height of the first video stream. Read line by line: the report also contains text from the file,
 * such as its title, and one pattern over all of it could run for minutes.
 */
function sizeOf(input: string): RegExpExecArray | null {
  for (const line of input.split('\n')) {
    const at = line.indexOf(VIDEO);
    if (at < 0 || !/^\s*Stream #0:\d/.test(line)) continue;
    const size = /\b([1-9]\d{0,4})x([1-9]\d{0,4})\b/.exec(line.slice(at + VIDEO.length));
    if (size) return size;
  }
  return null;
}

/** Parses ffmpeg's report of its input; width and height are those after rotation. */
export function readReport(report: string): Omit<VideoLook, 'thumbnail'> {
  const input = report.split(/^Output #0/m, 1)[0]!;
  const size = sizeOf(input);
  const turned = /rotate\s*:\s*-?(90|270)\b|rotation of -?(90|270)(\.\d+)? degrees/.test(input);
  const [width, height] = size ? [Number(size[1]), Number(size[2])] : [];
  const length = /Duration: (\d+):(\d+):(\d+(?:\.\d+)?)/.exec(input);
  const seconds = length ? Number(length[1]) * 3600 + Number(length[2]) * 60 + Number(length[3]) : null;
  return {
    ...(width && height ? { widthPx: turned ? height : width, heightPx: turned ? width : height } : {}),
    ...(seconds === null ? {} : { durationS: Math.max(1, Math.round(seconds)) }),
  };
}
