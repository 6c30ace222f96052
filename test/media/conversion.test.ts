import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import type { OutboundMedia } from '@posthorn/core/network/driver.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import type { MediaPreparer } from '@posthorn/worker/media/worker-media.ts';
import sharp from 'sharp';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import {
  amr,
  animatedWebp,
  emptyPng,
  gif,
  jpeg,
  made,
  mp3,
  mp4,
  opus,
  pdf,
  png,
  wav,
  webp,
} from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

const run = promisify(execFile);

/** Sides of GIFs, and those of the videos that they become. */
const ODD_SIDES = [
  [1, 7, '2x8'],
  [333, 777, '332x778'],
  [1281, 721, '640x360'],
] as const;
const ALL_SIDES = [
  ...ODD_SIDES,
  [1, 1, '2x2'],
  [7, 1, '6x2'],
  [3, 3, '2x4'],
  [2, 2, '2x2'],
  [641, 1, '640x2'],
  [1, 5000, '2x4096'],
] as const;
const SIDES = sized<typeof ODD_SIDES | typeof ALL_SIDES>(ODD_SIDES, ALL_SIDES, ALL_SIDES);

/** A conversion waits for its turn, and for processors that other tests use. */
const ENDLESS = new AbortController().signal;

let media: MediaServer;
let preparer: MediaPreparer;
let scope: { companyId: number; instanceId: string };
before(async () => {
  media = await startMediaServer();
  scope = { companyId: media.company.companyId, instanceId: media.instanceId };
  ({ preparer } = await openWorkerMedia({ config: media.config, media: media.media, log: media.parts.log }));
});
after(() => media.close());

async function store(
  bytes: Buffer,
  kind: 'document' | 'audio' | 'image' | 'video' | 'sticker' | 'gif' = 'document',
) {
  return (await media.media.sources.fromBase64(scope, bytes.toString('base64'), kind)).mediaId;
}

function prepare(mediaId: string, type: string, voice = false): Promise<OutboundMedia> {
  return preparer.prepare(scope, { mediaId, type, voice }, ENDLESS);
}

async function reasonOf(preparing: Promise<unknown>): Promise<string> {
  const err = await preparing.then(
    () => assert.fail('was prepared'),
    (cause: unknown) => cause,
  );
  assert.ok(err instanceof MediaUnusable, String(err));
  return err.reason;
}

interface Probe {
  streams: {
    codec_name: string;
    codec_type: string;
    channels?: number;
    width?: number;
    height?: number;
    pix_fmt?: string;
  }[];
  format: { format_name: string; duration: string; bit_rate: string };
}

async function probe(bytes: Buffer): Promise<Probe> {
  const file = path.join(media.config.DATA_DIR, 'probed');
  await writeFile(file, bytes);
  const { stdout } = await run('ffprobe', [
    '-v',
    'error',
    '-show_streams',
    '-show_format',
    '-of',
    'json',
    file,
  ]);
  return JSON.parse(stdout) as Probe;
}

/** Opus in OGG keeps the rate of its input; ffprobe always says 48,000 (bytes 12 to 15 of OpusHead). */
function inputRateOf(ogg: Buffer): number {
  const head = ogg.indexOf('OpusHead');
  assert.ok(head > 0);
  return ogg.readUInt32LE(head + 12);
}

describe('a voice note', () => {
  const sources: Record<string, () => Promise<Buffer>> = {
    wav: async () => wav(3),
    mp3: () => mp3(3),
    'm4a (AAC)': () => made('m4a', '-f', 'lavfi', '-i', 'sine=frequency=440:duration=3', '-c:a', 'aac'),
    'flac stereo': () =>
      made('flac', '-f', 'lavfi', '-i', 'sine=frequency=440:duration=3', '-ac', '2', '-ar', '44100'),
    'ogg vorbis': () =>
      made('ogg', '-f', 'lavfi', '-i', 'sine=frequency=440:duration=3', '-c:a', 'libvorbis'),
    'webm as browsers record': () =>
      made('webm', '-f', 'lavfi', '-i', 'sine=frequency=440:duration=3', '-c:a', 'libopus'),
    amr: async () => amr(3),
    'the sound of a video': () => mp4(3),
  };
  for (const [name, make] of Object.entries(sources)) {
    test(`is made of ${name}: OGG Opus, mono, 16 kHz, about 32 kbps, with its waveform`, async () => {
      const mediaId = await store(await make(), 'audio');
      const voice = await prepare(mediaId, 'audio', true);
      const bytes = await buffer(await voice.open());
      assert.equal(voice.mimeType, 'audio/ogg; codecs=opus');
      assert.equal(voice.sizeBytes, bytes.length);
      assert.equal(voice.durationS, 3);
      const { streams, format } = await probe(bytes);
      assert.equal(streams.length, 1);
      assert.equal(streams[0]!.codec_name, 'opus');
      assert.equal(streams[0]!.channels, 1);
      assert.equal(format.format_name, 'ogg');
      assert.ok(Math.abs(Number(format.duration) - 3) < 0.2, format.duration);
      assert.equal(inputRateOf(bytes), 16_000);
      assert.ok(Number(format.bit_rate) < 40_000, `${format.bit_rate} bit/s`);
      const waveform = Buffer.from(voice.waveform!, 'base64');
      assert.equal(waveform.length, 64);
      assert.equal(Math.max(...waveform), 100);
    });
  }

  test('is sent unchanged with a waveform when it is OGG Opus', async () => {
    const bytes = await opus(2);
    const voice = await prepare(await store(bytes, 'audio'), 'audio', true);
    assert.deepEqual(await buffer(await voice.open()), bytes);
    assert.equal(Buffer.from(voice.waveform!, 'base64').length, 64);
    assert.equal(voice.durationS, 2);
  });

  test('has a waveform of its loudness: growing bars for a growing tone, and none for silence', async () => {
    const rising = await prepare(await store(wav(4), 'audio'), 'audio', true);
    const bars = [...Buffer.from(rising.waveform!, 'base64')];
    for (let at = 4; at < 64; at += 4) assert.ok(bars[at]! > bars[at - 4]!, `bar ${at} of ${bars}`);
    assert.ok(bars[0]! < 5);
    assert.equal(bars[63], 100);
    const silence = Buffer.concat([wav(2).subarray(0, 44), Buffer.alloc(22_050 * 2 * 2)]);
    const silent = await prepare(await store(silence, 'audio'), 'audio', true);
    assert.deepEqual([...new Set(Buffer.from(silent.waveform!, 'base64'))], [0]);
  });

  test('is converted once, however many sends ask for it at the same time', async () => {
    const mediaId = await store(wav(5), 'audio');
    const made = await Promise.all(Array.from({ length: 20 }, () => prepare(mediaId, 'audio', true)));
    assert.equal(new Set(made.map(({ sizeBytes, waveform }) => `${sizeBytes} ${waveform}`)).size, 1);
    const variants = await media.parts.db.query('SELECT 1 FROM media_variants WHERE media_id = $1', [
      mediaId,
    ]);
    assert.equal(variants.rowCount, 1);
    const again = await prepare(mediaId, 'audio', true);
    assert.deepEqual(await buffer(await again.open()), await buffer(await made[0]!.open()));
  });

  test('waits for no more than one conversion of a company that has many under way', async () => {
    const count = 6 * Math.max(1, Math.floor(availableParallelism() / 2)) + 2;
    const many = await Promise.all(Array.from({ length: count }, (_, nth) => store(wav(20 + nth), 'audio')));
    const other = await seedCompany(media.parts.db);
    const others = {
      companyId: other.companyId,
      instanceId: await seedInstance(media.parts.db, other.companyId),
    };
    const { mediaId } = await media.media.sources.fromBase64(others, wav(1).toString('base64'), 'audio');
    let finished = 0;
    const converting = Promise.all(many.map((id) => prepare(id, 'audio', true).then(() => finished++)));
    await waitFor(() => finished > 0);
    await preparer.prepare(others, { mediaId, type: 'audio', voice: true }, ENDLESS);
    assert.ok(finished <= count / 2, `${finished} of ${count}`);
    await converting;
  });

  test('fails for good, with a reason, when its file has no sound', async () => {
    const mute = await made(
      'mp4',
      '-f',
      'lavfi',
      '-i',
      'testsrc=size=64x64:rate=5:duration=1',
      '-pix_fmt',
      'yuv420p',
    );
    assert.equal(
      await reasonOf(prepare(await store(mute, 'audio'), 'audio', true)),
      'media_conversion_failed',
    );
    const noise = Buffer.concat([Buffer.from('ID3\x03\x00\x00\x00\x00\x00\x00'), Buffer.alloc(3000, 7)]);
    assert.equal(
      await reasonOf(prepare(await store(noise, 'audio'), 'audio', true)),
      'media_conversion_failed',
    );
    // Remembered: not converted again for every recipient.
    const before = performance.now();
    assert.equal(
      await reasonOf(prepare(await store(noise, 'audio'), 'audio', true)),
      'media_conversion_failed',
    );
    tellFigure('a conversion that is known to fail', performance.now() - before, { atMost: 200 });
  });

  test('is no longer converted once nobody waits for it', async () => {
    const mediaId = await store(await mp3(150), 'audio');
    const stop = new AbortController();
    const preparing = preparer.prepare(scope, { mediaId, type: 'audio', voice: true }, stop.signal);
    setTimeout(() => stop.abort(new Error('stopped')), 150);
    await assert.rejects(preparing, /stopped/);
    const voice = await prepare(mediaId, 'audio', true);
    assert.equal(voice.durationS, 150);
  });
});

describe('a media send', () => {
  test('keeps the bytes of a sound, a document and a picture', async () => {
    for (const [bytes, type] of [
      [await mp3(2), 'audio'],
      [pdf(), 'document'],
      [await jpeg(), 'image'],
    ] as const) {
      const prepared = await prepare(await store(bytes), type);
      assert.deepEqual(await buffer(await prepared.open()), bytes);
      // A send may be repeated, so the bytes can be read again.
      assert.deepEqual(await buffer(await prepared.open()), bytes);
      assert.equal(prepared.waveform, undefined);
    }
    assert.equal((await prepare(await store(await mp3(3)), 'audio')).durationS, 3);
  });

  test('with an image has its size as it is shown, and a small JPEG', async () => {
    for (const bytes of [
      await jpeg({ width: 640, height: 480 }),
      await png({ width: 640, height: 480 }),
      // Rotated: cameras store the rotation instead of turning the picture.
      await sharp(await jpeg({ width: 480, height: 640 }))
        .withMetadata({ orientation: 6 })
        .toBuffer(),
    ]) {
      const image = await prepare(await store(bytes, 'image'), 'image');
      assert.deepEqual([image.widthPx, image.heightPx], [640, 480]);
      const small = await sharp(Buffer.from(image.thumbnail!, 'base64')).metadata();
      assert.deepEqual([small.format, small.width, small.height], ['jpeg', 200, 150]);
    }
  });

  test('with a video has its size, length and first picture', async () => {
    const video = await prepare(await store(await mp4(3), 'video'), 'video');
    assert.deepEqual([video.widthPx, video.heightPx, video.durationS], [320, 180, 3]);
    const small = await sharp(Buffer.from(video.thumbnail!, 'base64')).metadata();
    assert.equal(small.format, 'jpeg');
    assert.ok(small.width <= 200 && small.height <= 200);
    assert.ok(Math.abs(small.width / small.height - 320 / 180) < 0.05);
  });

  test('with a sticker says whether it moves', async () => {
    const still = await prepare(await store(await webp(), 'sticker'), 'sticker');
    assert.deepEqual([still.mimeType, still.animated, still.widthPx], ['image/webp', undefined, 512]);
    const moving = await prepare(await store(await animatedWebp(), 'sticker'), 'sticker');
    assert.equal(moving.animated, true);
    assert.deepEqual([moving.widthPx, moving.heightPx], [65, 48]);
  });

  test('is inspected for its type, whatever type the same media was sent as before', async () => {
    const shown = async (bytes: Buffer, before: string, type: string) => {
      const mediaId = await store(bytes);
      await prepare(mediaId, before);
      return prepare(mediaId, type);
    };
    // With a byte more it is none of the stickers of other tests.
    const moving = Buffer.concat([await animatedWebp(), Buffer.alloc(1)]);
    const sticker = await shown(moving, 'document', 'sticker');
    assert.deepEqual([sticker.animated, sticker.widthPx, sticker.heightPx], [true, 65, 48]);
    const image = await shown(await jpeg({ width: 641, height: 480 }), 'document', 'image');
    assert.equal(image.widthPx, 641);
    assert.ok(image.thumbnail);
    const video = await shown(await mp4(4), 'audio', 'video');
    assert.deepEqual([video.widthPx, video.heightPx, video.durationS], [320, 180, 4]);
    assert.ok(video.thumbnail);
    assert.equal((await shown(await mp3(4), 'document', 'audio')).durationS, 4);
    const broken = (await jpeg({ width: 800, height: 601, noise: true })).subarray(0, 3_000);
    assert.equal(await reasonOf(shown(broken, 'document', 'image')), 'media_invalid');
  });

  test('with a GIF becomes a silent video that phones loop', async () => {
    const loop = await prepare(await store(await gif(), 'gif'), 'gif');
    assert.equal(loop.mimeType, 'video/mp4');
    const { streams } = await probe(await buffer(await loop.open()));
    assert.deepEqual(
      streams.map(({ codec_name, width, height, pix_fmt }) => ({ codec_name, width, height, pix_fmt })),
      // The sides are even: 65 is odd.
      [{ codec_name: 'h264', width: 64, height: 48, pix_fmt: 'yuv420p' }],
    );
  });

  for (const [width, height, becomes] of SIDES)
    test(`with a GIF of ${width} x ${height} pixels becomes a video with even sides`, async () => {
      const create = { width, height, channels: 3 as const, background: '#00ff00' };
      const stored = await store(await sharp({ create }).gif().toBuffer(), 'gif');
      const loop = await prepare(stored, 'gif');
      const { streams } = await probe(await buffer(await loop.open()));
      const shown = streams.map((stream) => `${stream.width}x${stream.height} ${stream.pix_fmt}`);
      assert.deepEqual(shown, [`${becomes} yuv420p`]);
      assert.equal(`${loop.widthPx}x${loop.heightPx}`, becomes);
      assert.ok(loop.thumbnail);
    });

  test('with a film as a GIF keeps the film itself', async () => {
    const film = await mp4(1);
    const asItIs = await prepare(await store(film, 'gif'), 'gif');
    assert.deepEqual(await buffer(await asItIs.open()), film);
  });
});

describe('broken media', () => {
  test('is found before it reaches a recipient', async () => {
    const whole = await jpeg({ width: 800, height: 600, noise: true });
    const cut = whole.subarray(0, whole.length / 2);
    assert.equal(await reasonOf(prepare(await store(cut, 'image'), 'image')), 'media_invalid');
    const sticker = await animatedWebp();
    const torn = sticker.subarray(0, sticker.length - 30);
    assert.equal(await reasonOf(prepare(await store(torn, 'sticker'), 'sticker')), 'media_invalid');
    const film = await mp4(2);
    const stump = film.subarray(0, 400);
    assert.equal(await reasonOf(prepare(await store(stump, 'video'), 'video')), 'media_conversion_failed');
  });

  test('that would unpack to gigabytes is not unpacked', async () => {
    // 30,000 x 30,000 pixels of one colour: 2.7 GB in memory.
    const bomb = emptyPng(30_000, 30_000);
    assert.ok(bomb.length < 200_000, `${bomb.length} bytes`);
    const mediaId = await store(bomb, 'image');
    const before = process.memoryUsage().rss;
    assert.equal(await reasonOf(prepare(mediaId, 'image')), 'media_invalid');
    assert.ok(process.memoryUsage().rss - before < 100_000_000);
  });

  test('cannot make ffmpeg read other files or the network', async () => {
    const playlist = '#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n';
    const concat = "ffconcat version 1.0\nfile '/etc/passwd'\n";
    for (const text of [playlist, concat]) {
      // The API stores no such text, so the test stores it, as sound.
      const mediaId = await store(Buffer.from(text));
      await media.parts.db.query(`UPDATE media SET mime_type = 'audio/mpeg' WHERE id = $1`, [mediaId]);
      assert.equal(await reasonOf(prepare(mediaId, 'audio', true)), 'media_conversion_failed');
    }
  });

  test('is not found when it is unknown or belongs to another instance', async () => {
    const mediaId = await store(await png());
    const foreign = preparer.prepare(
      { companyId: scope.companyId + 1, instanceId: scope.instanceId },
      { mediaId, type: 'image', voice: false },
      AbortSignal.timeout(5_000),
    );
    assert.equal(await reasonOf(foreign), 'media_not_found');
  });

  test('leaves no temporary file, however its conversion ended', async () => {
    assert.deepEqual(await readdir(media.media.storage!.spoolDir), []);
    const rows = await media.parts.db.query<{ storage_key: string }>(
      'SELECT storage_key FROM media UNION SELECT storage_key FROM media_variants WHERE storage_key IS NOT NULL',
    );
    const stored = (await media.files()).sort();
    assert.deepEqual(stored, rows.rows.map((row) => row.storage_key).sort());
    for (const key of stored) await readFile(path.join(media.config.DATA_DIR, 'media', key));
  });
});
