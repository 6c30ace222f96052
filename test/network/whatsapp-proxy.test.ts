import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { createRoute } from '@posthorn/network/whatsapp/proxy.ts';
import { listen } from '../support/listen.ts';
import { startHttpProxy, startSocksProxy } from '../support/whatsapp/proxies.ts';
import { MEDIA_HOST } from '../support/whatsapp/tls-certificate.ts';
import { openWhatsApp, pairWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

for (const [name, start] of [
  ['HTTP', startHttpProxy],
  ['SOCKS5', startSocksProxy],
] as const) {
  test(`socket and media of an instance go by its ${name} proxy`, async (t) => {
    const network = await startNetwork();
    t.after(() => network.close());
    const proxy = await start(t);
    const [own, friend] = [network.phone('5511700000001'), network.phone('5511700000002')];
    const instance = await pairWhatsApp(t, network, own, { proxy: proxy.address });
    const socketHost = new URL(network.url).host;
    assert.ok(proxy.led.length > 0 && proxy.led.every((host) => host === socketHost), String(proxy.led));
    const picture = randomBytes(10_000);
    const id = await instance.send({
      to: friend.jid,
      type: 'image',
      content: {},
      media: {
        open: async () => Readable.from([picture]),
        mimeType: 'image/jpeg',
        fileName: 'a.jpg',
        sizeBytes: picture.length,
      },
    });
    assert.deepEqual(friend.open(await friend.message(id), 'image'), picture);
    assert.ok(proxy.led.includes(network.mediaHost), String(proxy.led));
  });

  test(`the page that names the newest version is read by the ${name} proxy`, async (t) => {
    const network = await startNetwork();
    t.after(() => network.close());
    network.faults.oldestVersion = [9, 0, 0];
    network.faults.page = '"client_revision":9999999999';
    const proxy = await start(t);
    const instance = await openWhatsApp(t, { url: network.url, proxy: proxy.address });
    const { reason } = await until(() => instance.ended[0], 'the end');
    assert.equal(reason, 'connection_lost');
    const socketHost = new URL(network.url).host;
    assert.deepEqual(proxy.led, [socketHost, socketHost]);
  });
}

for (const [name, start] of [
  ['HTTP', startHttpProxy],
  ['SOCKS5', startSocksProxy],
] as const) {
  test(`a large history and large changes of the state are fetched by the ${name} proxy too`, async (t) => {
    const network = await startNetwork();
    t.after(() => network.close());
    const proxy = await start(t, { [`${MEDIA_HOST}:443`]: network.mediaHost });
    network.media.takesFrom = (port) => proxy.ports.has(port);
    const [own, friend] = [network.phone('5511700000011'), network.phone('5511700000012')];
    own.phone.givesHistoryAs = 'file';
    own.phone.publishesAs = 'file';
    const [id] = own.remember(friend, [{ text: 'Long ago', fromMe: false, at: new Date(1_700_000_000_000) }]);
    const instance = await pairWhatsApp(t, network, own, { proxy: proxy.address });
    const batch = await until(() => instance.history[0], 'the history', 30_000);
    assert.deepEqual(
      batch.messages.map(({ networkId, content }) => [networkId, content.text]),
      [[id, 'Long ago']],
    );
    const led = () => proxy.led.filter((host) => host === `${MEDIA_HOST}:443`).length;
    assert.ok(led() >= 1, String(proxy.led));
    own.publish('regular_low', ['archive', friend.jid], { archiveChatAction: { archived: true } });
    await until(
      () => instance.facts.some((fact) => fact.kind === 'chat' && fact.archived === true),
      'the archived chat',
      30_000,
    );
    assert.ok(network.media.downloads >= 2, `${network.media.downloads} files were fetched`);
    assert.equal(network.media.refusals, 0, 'nothing went past the proxy');
  });
}

test('a history comes although the media server does not give its file at first', async (t) => {
  const network = await startNetwork();
  t.after(() => network.close());
  const proxy = await startHttpProxy(t, { [`${MEDIA_HOST}:443`]: network.mediaHost });
  const [own, friend] = [network.phone('5511700000031'), network.phone('5511700000032')];
  own.phone.givesHistoryAs = 'file';
  own.remember(friend, [{ text: 'Long ago', fromMe: false, at: new Date(1_700_000_000_000) }]);
  network.media.failDownloads = ['busy', 'broken'];
  const instance = await pairWhatsApp(t, network, own, { proxy: proxy.address });
  const batch = await until(() => instance.history[0], 'the history', 30_000);
  assert.deepEqual([batch.messages.length, network.media.downloads], [1, 3]);
});

test('a media server that only the proxy may reach is not reached without it', async (t) => {
  const network = await startNetwork();
  t.after(() => network.close());
  const proxy = await startHttpProxy(t);
  const [own, friend] = [network.phone('5511700000021'), network.phone('5511700000022')];
  const instance = await pairWhatsApp(t, network, own);
  const id = friend.file(own, 'image', randomBytes(1_000), { mimetype: 'image/png' });
  const received = await until(() => instance.inbound.find(({ networkId }) => networkId === id), 'the image');
  network.media.takesFrom = (port) => proxy.ports.has(port);
  await assert.rejects(instance.session.download(received.media!), SendUnavailable);
  assert.equal(network.media.refusals, 1);
});

test('a proxy that refuses is reported without its password', async (t) => {
  const network = await startNetwork();
  t.after(() => network.close());
  const { address } = await startHttpProxy(t);
  const wrong = address.replace('hush', 'guess');
  const instance = await openWhatsApp(t, { url: network.url, proxy: wrong });
  const { reason, error } = await until(() => instance.ended[0], 'the end');
  assert.equal(reason, 'connection_lost');
  assert.equal(error, 'the WhatsApp network cannot be reached (HTTP 407); it is tried again');
  assert.ok(!error?.includes('guess'));
});

test('a proxy at a private address is refused unless it is allowed, by its name too', async () => {
  for (const proxy of ['http://10.0.0.1:3128', 'socks5://[::1]:1080'])
    assert.throws(() => createRoute({ proxy, allowPrivate: false }), /private address/);
  assert.ok(createRoute({ proxy: 'http://10.0.0.1:3128', allowPrivate: true }));
});

test('a proxy whose user or password cannot be decoded is not connected to', async () => {
  for (const proxy of [
    'http://%zz:x@10.0.0.1:3128',
    'http://x:%e7@10.0.0.1:3128',
    'socks5://x:%@10.0.0.1:1080',
  ])
    assert.throws(() => createRoute({ proxy, allowPrivate: true }), URIError);
});

test('a proxy whose answer has no end is left, and holds nobody up', async (t) => {
  const piece = Buffer.alloc(64 * 1024, 'a');
  const flood = (socket: Socket) => {
    socket.on('error', () => undefined);
    const write = () => {
      while (socket.write(piece));
      socket.once('drain', write);
    };
    write();
  };
  const server = createServer(flood);
  const port = await listen(server);
  t.after(() => server.close());
  const agent = createRoute({ proxy: `http://127.0.0.1:${port}`, allowPrivate: true });
  const asked = request({ host: 'web.whatsapp.test', agent }).end();
  const [err] = await once(asked, 'error');
  assert.match(String(err), /the answer of the proxy has no end/);
});
