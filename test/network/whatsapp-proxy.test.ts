import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { createRoute } from '@posthorn/network/whatsapp/proxy.ts';
import { openWhatsApp, pairWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

/** Connections through a proxy, by where they led. */
interface Proxy {
  address: string;
  led: string[];
}

function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  for (const socket of [one, other]) socket.on('error', () => [one, other].map((each) => each.destroy()));
}

/** One that takes CONNECT, with a name and a password. */
async function startHttpProxy(t: TestContext): Promise<Proxy> {
  const led: string[] = [];
  const server = createHttpServer();
  server.on('connect', (request, socket: Socket) => {
    const wanted = `Basic ${Buffer.from('ada:hush').toString('base64')}`;
    if (request.headers['proxy-authorization'] !== wanted) return socket.end('HTTP/1.1 407 No\r\n\r\n');
    led.push(request.url!);
    const [host, port] = request.url!.split(':');
    const out = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      join(socket, out);
    });
  });
  const port = await listening(t, server);
  return { address: `http://ada:hush@127.0.0.1:${port}`, led };
}

/** SOCKS5 with a name and a password (RFC 1928 and 1929), as far as a client of ours asks for it. */
async function startSocksProxy(t: TestContext): Promise<Proxy> {
  const led: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.of(5, 2));
      socket.once('data', (login) => {
        const user = login.subarray(2, 2 + login[1]!).toString();
        const password = login.subarray(3 + login[1]!).toString();
        const isKnown = user === 'ada' && password === 'hush';
        socket.write(Buffer.of(1, isKnown ? 0 : 1));
        if (isKnown) socket.once('data', (asked) => serve(socket, asked));
      });
    });
    socket.on('error', () => undefined);
  });
  function serve(socket: Socket, asked: Buffer): void {
    const isName = asked[3] === 3;
    const end = isName ? 5 + asked[4]! : 8;
    const host = isName ? asked.subarray(5, end).toString() : asked.subarray(4, 8).join('.');
    const port = asked.readUInt16BE(end);
    led.push(`${host}:${port}`);
    const out = connect(port, host, () => {
      socket.write(Buffer.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0));
      join(socket, out);
    });
  }
  const port = await listening(t, server);
  return { address: `socks5://ada:hush@127.0.0.1:${port}`, led };
}

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
}

test('a proxy that refuses is told without its password', async (t) => {
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
