import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
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
