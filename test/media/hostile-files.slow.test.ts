import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { convertVoice } from '@posthorn/worker/media/convert-voice.ts';
import { type Ffmpeg, findFfmpeg, isRecent } from '@posthorn/worker/media/find-ffmpeg.ts';
import { inspectImage } from '@posthorn/worker/media/inspect-image.ts';
import { inspectSound, inspectVideo } from '@posthorn/worker/media/inspect-video.ts';
import { ConversionFailed, runFfmpeg } from '@posthorn/worker/media/run-ffmpeg.ts';
import sharp from 'sharp';
import { listen } from '../support/listen.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { emptyPng, made, wav } from './samples.ts';

let dir: string;
let ffmpeg: Ffmpeg;
let asked = 0;
const server = createServer((_request, response) => {
  asked += 1;
  response.end(wav(1));
});
let url: string;

before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'posthorn-hostile-'));
  ffmpeg = (await findFfmpeg({})).ffmpeg!;
  url = `http://127.0.0.1:${await listen(server)}/x.wav`;
  await writeFile(path.join(dir, 'secret.wav'), wav(1));
});
after(async () => {
  server.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 10 });
});

const signal = () => AbortSignal.timeout(60_000);

async function fileOf(content: string | Buffer, name = 'hostile'): Promise<string> {
  const file = path.join(dir, name);
  await writeFile(file, content);
  return file;
}

/** Files that name others; each would play if it were obeyed, because it names a sound. */
const NAMING: Record<string, (target: string) => string> = {
  'a playlist': (target) =>
    `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\n${target}\n#EXT-X-ENDLIST\n`,
  'a playlist of playlists': (target) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${target}\n`,
  'a playlist with a key': (target) =>
    `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-KEY:METHOD=AES-128,URI="${target}"\n#EXTINF:1,\n${target}\n`,
  'a list to concatenate': (target) => `ffconcat version 1.0\nfile '${target}'\n`,
  'a list of pictures': (target) => `${target}\n${target}\n`,
  'a DASH manifest': (target) =>
    `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" bandwidth="1"><BaseURL>${target}</BaseURL></Representation></AdaptationSet></Period></MPD>`,
  'an SVG': (target) =>
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9"><image xlink:href="${target}" width="9" height="9"/></svg>`,
  'an SVG with an entity': (target) =>
    `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "${target}">]><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>&x;</text></svg>`,
  subtitles: (target) =>
    `[Script Info]\nScriptType: v4.00+\n[Events]\nDialogue: 0,0:00:00.00,0:00:01.00,${target}\n`,
  'VobSub subtitles': (target) => `# VobSub index file, v7 (do not modify this line!)\n# ${target}\n`,
  'a session description': (target) =>
    `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=${target}\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n`,
  'metadata of ffmpeg': (target) => `;FFMETADATA1\ntitle=${target}\n`,
  'a RealMedia pointer': (target) => `${target}\n`,
  'a QuickTime pointer': (target) => `RTSPtext\n${target}\n`,
};

describe('a file that names others', () => {
  for (const [what, make] of Object.entries(NAMING)) {
    test(`is refused, and nothing that it names is opened: ${what}`, async () => {
      const targets = [url, '/etc/passwd', 'file:///etc/passwd', path.join(dir, 'secret.wav'), 'secret.wav'];
      for (const target of targets) {
        const input = await fileOf(make(target));
        const convert = convertVoice(ffmpeg, { input, output: path.join(dir, 'out') }, signal());
        await assert.rejects(convert, ConversionFailed, `${what} of ${target}`);
        await assert.rejects(inspectImage(input), ConversionFailed, `${what} of ${target}`);
      }
      const input = await fileOf(make(url));
      await assert.rejects(inspectVideo(ffmpeg, input, signal()), ConversionFailed);
      await assert.rejects(inspectSound(ffmpeg, input, signal()), ConversionFailed);
      assert.equal(asked, 0, 'nothing was fetched');
    });
  }

  test('is never opened by a protocol in its name: the input is a local file, whatever its name', async () => {
    for (const input of [
      url,
      'concat:/etc/passwd|/etc/passwd',
      'subfile,,start,0,end,9,,:/etc/passwd',
      'data:,x',
    ]) {
      await assert.rejects(inspectSound(ffmpeg, input, signal()), ConversionFailed);
    }
    assert.equal(asked, 0);
  });
});

describe('ffmpeg', () => {
  test('cannot reach the network even when it is told to, where the kernel gives namespaces', async (t) => {
    if (ffmpeg.wrap.length === 0) return t.diagnostic('this machine gives no namespaces');
    const input = await fileOf(wav(1));
    const output = ['-f', 'wav', '-protocol_whitelist', 'http,tcp,file', url];
    await assert.rejects(runFfmpeg(ffmpeg, { input, output }, signal()), ConversionFailed);
    assert.equal(asked, 0);
  });

  test('sees nothing of our environment', async () => {
    // A stand-in that prints its environment and limits.
    const show = path.join(dir, 'show');
    await writeFile(show, '#!/bin/sh\n/usr/bin/env\nulimit -v\nulimit -t\nulimit -c\n', { mode: 0o755 });
    process.env.POSTHORN_SECRET = 'secret';
    let said = '';
    await runFfmpeg(
      { path: show, wrap: [] },
      { input: '/dev/null', output: [], onData: (chunk) => (said += chunk) },
      signal(),
    );
    delete process.env.POSTHORN_SECRET;
    assert.doesNotMatch(said, /secret|DATABASE|PATH=.*node/i);
    const [memory, cpu, core] = said.trim().split('\n').slice(-3);
    assert.deepEqual([memory, cpu, core], [String(2 * 1024 * 1024), '100', '0']);
  });

  test('is limited in memory: a film of 16,000 x 16,000 pixels fails and slows nobody else down', async () => {
    const server = createServer((_request, response) => response.end('ok'));
    const port = await listen(server);
    const film = await made(
      'mp4',
      ...[
        '-f',
        'lavfi',
        '-i',
        'color=size=64x64:rate=5:duration=1',
        '-c:v',
        'libx264',
        '-pix_fmt',
        'yuv420p',
      ],
    );
    // The sequence parameter set and the track have the size; a GIF has it in its head.
    const gif = Buffer.from('474946383961803e803ef00000000000ffffff2c00000000803e803e0000024c0100', 'hex');
    const before = process.memoryUsage().rss;
    const { probed } = await probeWhile({ url: `http://127.0.0.1:${port}/` }, async () => {
      for (const bytes of [gif, film.subarray(0, film.length / 2)]) {
        await assert.rejects(inspectVideo(ffmpeg, await fileOf(bytes), signal()), ConversionFailed);
      }
    });
    server.close();
    assert.ok(process.memoryUsage().rss - before < 200_000_000);
    assertUnhurt(probed, 'a film that is a bomb');
  });

  test('is refused when it is too old, and its absence is reported with what to install', async () => {
    assert.equal(isRecent('ffmpeg version 4.1\nlibavutil      56. 22.100 / 56. 22.100\n'), false);
    assert.equal(isRecent('ffmpeg version 5.0\nlibavutil      57. 17.100 / 57. 17.100\n'), false);
    assert.equal(isRecent('ffmpeg version 5.1.9\nlibavutil      57. 28.100 / 57. 28.100\n'), true);
    assert.equal(isRecent('ffmpeg version N-1-g0\nlibavutil      60.  8.100 / 60.  8.100\n'), true);
    assert.equal(isRecent('no ffmpeg'), false);
    const old = path.join(dir, 'ffmpeg');
    await writeFile(old, '#!/bin/sh\necho "libavutil      56. 22.100 / 56. 22.100"\n', { mode: 0o755 });
    await assert.rejects(findFfmpeg({ path: old }), /FFMPEG_PATH.*5\.1/);
    const { PATH } = process.env;
    try {
      process.env.PATH = dir;
      const tooOld = await findFfmpeg({ from: path.join(dir, 'none.js') });
      assert.equal(tooOld.ffmpeg, null);
      assert.match(tooOld.problem!, /too old: install ffmpeg 5\.1 or newer/);
      process.env.PATH = path.join(dir, 'empty');
      const none = await findFfmpeg({ from: path.join(dir, 'none.js') });
      assert.equal(none.ffmpeg, null);
      assert.match(none.problem!, /no ffmpeg found: install/);
    } finally {
      process.env.PATH = PATH;
    }
  });

  test('comes from npm only where the system has none that is recent enough', async () => {
    const real = ffmpeg.path;
    const place = path.join(dir, 'with npm');
    const from = path.join(place, 'module.js');
    const folder = path.join(place, 'node_modules', 'ffmpeg-static');
    const program = path.join(folder, 'ffmpeg');
    const { PATH } = process.env;
    /** The ffmpeg that is found when the package's module is `says`, with that program in it. */
    const found = async (says: string, script?: string, system = path.join(dir, 'empty')) => {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      // Another file each time: a module is loaded once.
      const main = `${randomUUID()}.js`;
      await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name: 'ffmpeg-static', main }));
      await writeFile(path.join(folder, main), says);
      if (script !== undefined) await writeFile(program, script, { mode: 0o755 });
      process.env.PATH = system;
      try {
        return await findFfmpeg({ from });
      } finally {
        process.env.PATH = PATH;
      }
    };
    const isThere = `module.exports = ${JSON.stringify(program)}`;
    const runs = `#!/bin/sh\nexec ${real} "$@"\n`;
    const old = '#!/bin/sh\necho "libavutil      56. 22.100 / 56. 22.100"\n';
    assert.equal((await found(isThere, runs)).ffmpeg?.path, program);
    assert.equal(
      (await found(isThere, runs, path.dirname(real))).ffmpeg?.path,
      real,
      'the system comes first',
    );
    // The old program of a system is no obstacle.
    await writeFile(path.join(dir, 'ffmpeg'), old, { mode: 0o755 });
    assert.equal((await found(isThere, runs, dir)).ffmpeg?.path, program);
    assert.match((await found(isThere, old)).problem!, /too old/);
    for (const says of [isThere, 'module.exports = null', 'throw new Error("no such platform")', '{{'])
      assert.match((await found(says)).problem!, /no ffmpeg found: install/, says);
    await assert.rejects(findFfmpeg({ path: path.join(dir, 'none'), from }), /FFMPEG_PATH/);
  });
});

/** Pictures of a few kilobytes that claim to be gigabytes, or unpack to them. */
const BOMBS: Record<string, () => Promise<Buffer>> = {
  'a PNG of 60,000 x 60,000': async () => {
    const bomb = emptyPng(6_000, 6_000);
    // The head alone must decide: nothing behind it may be read.
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    return bomb;
  },
  'a whole PNG of 31 megapixels': async () => emptyPng(31_000, 1_000),
  'a whole PNG of one row too many': async () => emptyPng(30_001, 1_000),
  'a GIF of 65,535 x 65,535': async () =>
    Buffer.from('474946383961fffffffff00000000000ffffff2c00000000ffffffff0000024c01003b', 'hex'),
  'a WebP of 16,383 x 16,383': async () => {
    const webp = await sharp({ create: { width: 64, height: 64, channels: 4, background: '#ff000080' } })
      .webp({ lossless: true })
      .toBuffer();
    const at = webp.indexOf('VP8L') + 9;
    webp.writeUInt32LE(((webp.readUInt32LE(at) & 0xf0000000) | (0x3fff << 14) | 0x3fff) >>> 0, at);
    return webp;
  },
  'a JPEG whose head says 65,500 x 65,500': async () => {
    const jpeg = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#ff0000' } })
      .jpeg()
      .toBuffer();
    const at = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    jpeg.writeUInt16BE(65_500, at + 5);
    jpeg.writeUInt16BE(65_500, at + 7);
    return jpeg;
  },
  'a TIFF of 60,000 x 60,000': async () => {
    const tiff = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#ff0000' } })
      .tiff({ compression: 'deflate' })
      .toBuffer();
    const ifd = tiff.readUInt32LE(4);
    for (let i = 0; i < tiff.readUInt16LE(ifd); i += 1) {
      const entry = ifd + 2 + i * 12;
      if ([256, 257].includes(tiff.readUInt16LE(entry))) tiff.writeUInt32LE(60_000, entry + 8);
    }
    return tiff;
  },
};

describe('a picture that is a bomb', () => {
  for (const [what, make] of Object.entries(BOMBS)) {
    test(`is recognized by its header and never unpacked: ${what}`, async () => {
      const server = createServer((_request, response) => response.end('ok'));
      const port = await listen(server);
      const file = await fileOf(await make());
      const before = process.memoryUsage().rss;
      const { probed } = await probeWhile({ url: `http://127.0.0.1:${port}/` }, () =>
        assert.rejects(inspectImage(file), ConversionFailed),
      );
      server.close();
      assert.ok(process.memoryUsage().rss - before < 100_000_000, 'nothing was unpacked');
      assertUnhurt(probed, what);
    });
  }

  test('is a normal picture at 30 megapixels', async () => {
    const look = await inspectImage(await fileOf(emptyPng(6_000, 5_000)));
    assert.deepEqual([look.widthPx, look.heightPx], [6_000, 5_000]);
  });
});
