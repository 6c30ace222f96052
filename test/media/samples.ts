import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import { findFfmpeg } from '@posthorn/worker/media/find-ffmpeg.ts';
import sharp from 'sharp';

const run = promisify(execFile);

/** A picture of one colour, or of noise when it has to be large. */
export function jpeg(options: { width?: number; height?: number; noise?: boolean } = {}): Promise<Buffer> {
  return picture(options).jpeg({ quality: 90 }).toBuffer();
}

export function png(options: { width?: number; height?: number } = {}): Promise<Buffer> {
  return picture(options).png().toBuffer();
}

export function webp(): Promise<Buffer> {
  return picture({ width: 512, height: 512 }).webp().toBuffer();
}

function picture({
  width = 64,
  height = 48,
  noise = false,
}: {
  width?: number;
  height?: number;
  noise?: boolean;
}) {
  const background = { r: 200, g: 30, b: 60 };
  return sharp({
    create: {
      width,
      height,
      channels: 3,
      background,
      ...(noise ? { noise: { type: 'gaussian', mean: 128, sigma: 40 } } : {}),
    },
  });
}

/** Two pictures, one after the other. */
export async function animatedWebp(): Promise<Buffer> {
  return sharp(await frames(), { join: { animated: true } })
    .webp({ loop: 0, delay: [200, 200] })
    .toBuffer();
}

export async function gif(): Promise<Buffer> {
  return sharp(await frames(), { join: { animated: true } })
    .gif({ loop: 0, delay: [200, 200] })
    .toBuffer();
}

async function frames(): Promise<Buffer[]> {
  const colours = ['#ff0000', '#0000ff'];
  return Promise.all(
    colours.map((background) =>
      sharp({ create: { width: 65, height: 48, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
}

/** A tone that grows louder from silence: its waveform rises. */
export function wav(seconds = 2): Buffer {
  const rate = 22_050;
  const samples = Buffer.alloc(rate * seconds * 2);
  for (let i = 0; i < rate * seconds; i += 1) {
    const loudness = i / (rate * seconds);
    samples.writeInt16LE(Math.round(30_000 * loudness * Math.sin((2 * Math.PI * 440 * i) / rate)), i * 2);
  }
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

export function pdf(): Buffer {
  return Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n');
}

/** The output of ffmpeg for these options, in which `OUT` is replaced by the name of the output file. */
export async function made(extension: string, ...options: string[]): Promise<Buffer> {
  const { ffmpeg } = await findFfmpeg({});
  if (ffmpeg === null) throw new Error('the tests need ffmpeg');
  const dir = await mkdtemp(path.join(tmpdir(), 'posthorn-sample-'));
  try {
    const out = path.join(dir, `sample.${extension}`);
    await run(ffmpeg.path, ['-v', 'error', '-nostdin', ...options, out]);
    return await readFile(out);
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

export function mp4(seconds = 2): Promise<Buffer> {
  return made(
    'mp4',
    ...['-f', 'lavfi', '-i', `testsrc=size=320x180:rate=15:duration=${seconds}`],
    ...['-f', 'lavfi', '-i', `sine=frequency=300:duration=${seconds}`],
    ...['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-shortest'],
  );
}

export function mp3(seconds = 2): Promise<Buffer> {
  return made('mp3', '-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`, '-c:a', 'libmp3lame');
}

export function opus(seconds = 2): Promise<Buffer> {
  return made(
    'ogg',
    ...['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`],
    ...['-c:a', 'libopus', '-ac', '1', '-b:a', '24k'],
  );
}

/** Bytes that no compressor shrinks and no type detection recognizes, after the head of a JPEG. */
export function bigJpeg(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes, 0x5a);
  Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01]).copy(bytes);
  return bytes;
}

/** A black picture with one bit for each pixel: of any size, in a few kilobytes. */
export function emptyPng(width: number, height: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 1;
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** Noise as old phones recorded it, in frames of 20 ms: few builds of ffmpeg can write it. */
export function amr(seconds = 2): Buffer {
  const frames = Array.from({ length: seconds * 50 }, (_, nth) => {
    const frame = Buffer.alloc(32);
    for (let i = 1; i < frame.length; i += 1) frame[i] = (nth * 31 + i * 97 + i * i * nth) % 256;
    // 12.2 kbit/s, a good frame.
    frame[0] = 0x3c;
    return frame;
  });
  return Buffer.concat([Buffer.from('#!AMR\n', 'latin1'), ...frames]);
}
