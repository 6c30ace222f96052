import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';

const FROM = '5531900000021';
const FILE = Buffer.from('a document of some bytes');

describe('media that people send to an official number', () => {
  let cloud: CloudSending;
  before(async () => {
    cloud = await startCloudSending();
  });
  after(() => cloud?.close());

  it('wait for the next access token when the present one has died, and are there then', async () => {
    const instance = await cloud.connect();
    const { id, number } = instance;
    await cloud.greet(instance, FROM);
    number.isTokenAlive = false;
    cloud.graph.write(FROM, number, 'document', {
      id: cloud.graph.addMedia(number, FILE, 'application/pdf'),
    });
    const down = await cloud.state(id, 'DISCONNECTED');
    assert.match(down.last_error, /refuses the access token/);
    assert.deepEqual(await cloud.events(id, 'document.received'), []);
    number.isTokenAlive = true;
    number.token = `${number.token}-new`;
    assert.equal((await cloud.give(id, number)).status, 200);
    const told = await waitFor(async () => (await cloud.events(id, 'document.received'))[0]);
    assert.ok(told.data.media_id, JSON.stringify(told.data));
  });

  it('wait for a limit of the network to be over', async () => {
    const instance = await cloud.connect();
    const { id, number } = instance;
    await cloud.greet(instance, FROM);
    number.perSecond = 0;
    cloud.graph.write(FROM, number, 'document', {
      id: cloud.graph.addMedia(number, FILE, 'application/pdf'),
    });
    await delay(1_500);
    assert.deepEqual(await cloud.events(id, 'document.received'), []);
    number.perSecond = 80;
    const told = await waitFor(async () => (await cloud.events(id, 'document.received'))[0]);
    assert.ok(told.data.media_id, JSON.stringify(told.data));
  });

  it('do not hold up a worker that stops, and are fetched by the next', async (t) => {
    const begun = Promise.withResolvers<void>();
    let isSlow = true;
    const gateway = createServer(async (from, to) => {
      if (isSlow && from.url!.startsWith('/media/')) {
        begun.resolve();
        to.writeHead(200);
        const drip = setInterval(() => to.write('a'), 500);
        return void to.once('close', () => clearInterval(drip));
      }
      const { method, headers } = from;
      const body = method === 'POST' ? { body: Buffer.concat(await from.toArray()) } : {};
      const passed = { method: method!, headers: headers as Record<string, string>, ...body };
      const answered = await fetch(new URL(from.url!, slow.graph.url), passed);
      const bytes = Buffer.from(await answered.arrayBuffer());
      const isFile = from.url!.startsWith('/media/');
      to.writeHead(answered.status).end(isFile ? bytes : bytes.toString().replaceAll(slow.graph.url, url));
    });
    const url = `http://127.0.0.1:${await listen(gateway)}`;
    const slow = await startCloudSending({ graphUrl: url });
    t.after(async () => {
      await slow.close();
      gateway.closeAllConnections();
      gateway.close();
    });
    const { id, number } = await slow.connect();
    slow.graph.write(FROM, number, 'document', {
      id: slow.graph.addMedia(number, FILE, 'application/pdf'),
    });
    await begun.promise;
    const startedMs = performance.now();
    await slow.worker.stop();
    assert.ok(performance.now() - startedMs < 60_000, `${performance.now() - startedMs} ms`);
    isSlow = false;
    await slow.startWorker();
    const told = await waitFor(async () => (await slow.events(id, 'document.received'))[0], 60_000);
    assert.ok(told.data.media_id, JSON.stringify(told.data));
  });
});

describe('media that an official number sends', () => {
  it('go again when their upload is answered by an error page, since nobody has got them', async (t) => {
    const cloud = await startCloudSending();
    t.after(() => cloud.close());
    const instance = await cloud.connect();
    await cloud.greet(instance, FROM);
    cloud.graph.fault({ kind: 'bad_gateway', at: 'after' }, { person: instance.number.id });
    const media_base64 = `data:application/pdf;base64,${FILE.toString('base64')}`;
    const id = await cloud.send(instance, '/messages/document', { to: FROM, media_base64 });
    await cloud.reaches(instance, id, 'delivered');
    assert.equal(cloud.graph.world.ledger.length, 1);
  });

  it('wait for a storage that is away, and go once it is back', async (t) => {
    const cloud = await startCloudSending();
    t.after(() => cloud.close());
    const instance = await cloud.connect();
    await cloud.greet(instance, FROM);
    const folder = path.join(cloud.api.config.DATA_DIR, 'media');
    const document = { to: FROM, media_base64: `data:application/pdf;base64,${FILE.toString('base64')}` };
    const first = await cloud.send(instance, '/messages/document', document);
    await cloud.reaches(instance, first, 'delivered');
    const { media_id } = (await cloud.call(instance.id, 'GET', `/message/${first}`)).body;
    // The next worker has to read it again.
    await cloud.worker.stop();
    await cloud.startWorker();
    await rename(folder, `${folder}-away`);
    const second = await cloud.send(instance, '/messages/document', { to: FROM, media_id });
    await delay(2_500);
    assert.equal((await cloud.status(instance, second)).status, 'queued');
    await rename(`${folder}-away`, folder);
    await cloud.reaches(instance, second, 'delivered');
    assert.equal(cloud.graph.world.ledger.length, 2);
  });
});
