import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { uploadMedia } from '@posthorn/network/whatsapp-cloud/media.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';

const FROM = '5531900000021';

/** How the network answers an upload that it has taken. */
const ANSWERS: Readonly<Record<string, (from: IncomingMessage, to: ServerResponse) => void>> = {
  'is cut off': (_, to) => void to.destroy(),
  'breaks off': (from, to) => {
    to.writeHead(200, { 'content-length': 100 });
    to.write('{"id":', () => from.socket.destroy());
  },
  'has no id': (_, to) => void to.writeHead(200).end('{}'),
  'is no HTTP': (from) => void from.socket.end('Gateway timeout\r\n\r\n'),
};

describe('an upload of media that was taken', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  let spoils: (typeof ANSWERS)[string][] = [];
  let uploads = 0;
  const gateway = createServer((from, to) => {
    const url = new URL(from.url!, cloud.graph.url);
    const passed = request(url, { method: from.method!, headers: from.headers }, (answered) => {
      if (url.pathname.endsWith('/media')) {
        uploads += 1;
        const spoil = spoils.shift();
        if (spoil) return spoil(from, to);
      }
      answered.pipe(to.writeHead(answered.statusCode!, answered.headers));
    });
    from.pipe(passed);
  });
  before(async () => {
    const port = await listen(gateway);
    cloud = await startCloudSending({ graphUrl: `http://127.0.0.1:${port}` });
    instance = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(instance, FROM);
  });
  after(async () => {
    await cloud?.close();
    gateway.closeAllConnections();
    gateway.close();
  });

  /** Sends a file while its uploads are answered so, and expects that it is uploaded until one goes well. */
  async function sendsAnyway(words: string, answers: (typeof ANSWERS)[string][], withinMs: number) {
    const before = [uploads, cloud.graph.world.ledger.length];
    spoils = [...answers];
    const id = await cloud.send(instance, '/messages/document', {
      to: FROM,
      media_base64: `data:application/pdf;base64,${Buffer.from(words).toString('base64')}`,
    });
    await waitFor(async () => (await cloud.status(instance, id)).status !== 'queued', withinMs);
    await cloud.reaches(instance, id, 'delivered');
    const now = [uploads, cloud.graph.world.ledger.length];
    assert.deepEqual([now[0]! - before[0]!, now[1]! - before[1]!], [answers.length + 1, 1]);
  }

  for (const [what, spoil] of Object.entries(ANSWERS))
    it(`is made again when its answer ${what}, since nobody has got the file`, () =>
      sendsAnyway(what, [spoil], 60_000));

  it('is made again for as long as a message may wait, whatever its answers are', () =>
    sendsAnyway(
      'all of them',
      [1, 2, 3].flatMap(() => [ANSWERS['has no id']!, ANSWERS['is no HTTP']!]),
      90_000,
    ));
});

describe('an upload of media that takes long', () => {
  const SIZE_BYTES = 24 * 1024 * 1024;
  const file = () => ({
    ...{ mimeType: 'application/pdf', fileName: 'a.pdf', sizeBytes: SIZE_BYTES },
    open: async () => Readable.from(Array.from({ length: 384 }, () => Buffer.alloc(64 * 1024))),
  });

  /** A media server that takes an upload as `take` says, and then answers with an id. */
  async function startServer(take: (from: IncomingMessage) => Promise<void>) {
    const server = createServer(async (from, to) => {
      await take(from);
      to.end('{"id":"1"}');
    });
    const graph = { url: `http://127.0.0.1:${await listen(server)}`, version: 'v26.0' };
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    return { access: { graph, token: 'x', phoneNumberId: '1' }, close };
  }

  it('goes on for as long as the network takes some of it', async (t) => {
    const { access, close } = await startServer(async (from) => {
      let taken = 0;
      for await (const chunk of from) {
        taken += chunk.length;
        if (taken < 1024 * 1024) continue;
        taken = 0;
        await delay(200);
      }
    });
    t.after(close);
    assert.equal(await uploadMedia(access, file(), { idleMs: 2_500 }), '1');
  });

  it('fails once the network takes nothing of it', async (t) => {
    const { access, close } = await startServer(() => new Promise(() => undefined));
    t.after(close);
    await assert.rejects(uploadMedia(access, file(), { idleMs: 1_000 }), /could not be uploaded/);
  });

  it('does not hold up a worker that stops, and is made again by the next', async (t) => {
    let isStalled = true;
    let stalled = () => {};
    const stalls = new Promise<void>((resolve) => {
      stalled = resolve;
    });
    const gateway = createServer((from, to) => {
      if (isStalled && from.url!.endsWith('/media')) return stalled();
      const url = new URL(from.url!, cloud.graph.url);
      const passed = request(url, { method: from.method!, headers: from.headers }, (answered) =>
        answered.pipe(to.writeHead(answered.statusCode!, answered.headers)),
      );
      from.pipe(passed);
    });
    const cloud = await startCloudSending({ graphUrl: `http://127.0.0.1:${await listen(gateway)}` });
    t.after(async () => {
      await cloud.close();
      gateway.closeAllConnections();
      gateway.close();
    });
    const instance = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(instance, FROM);
    const media_base64 = `data:application/pdf;base64,${Buffer.from('a file').toString('base64')}`;
    const id = await cloud.send(instance, '/messages/document', { to: FROM, media_base64 });
    await stalls;
    const startedMs = performance.now();
    await cloud.worker.stop();
    assert.ok(performance.now() - startedMs < 60_000, `${performance.now() - startedMs} ms`);
    isStalled = false;
    await cloud.startWorker();
    await cloud.reaches(instance, id, 'delivered');
  });
});
