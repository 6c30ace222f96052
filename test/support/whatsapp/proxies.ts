import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from '../listen.ts';

/** Connections through a proxy, by their destination. */
export interface Proxy {
  address: string;
  led: string[];
  /** The ports that its own connections come from. */
  ports: Set<number>;
  /** It does not answer the next requests to these destinations. */
  silentTo: string[];
}

/** The addresses that the proxy finds behind names, in place of real look-ups. */
type Hosts = Readonly<Record<string, string>>;

function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return listen(server);
}

function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  for (const socket of [one, other]) socket.on('error', () => [one, other].map((each) => each.destroy()));
}

function isSilent(silentTo: string[], host: string): boolean {
  const at = silentTo.indexOf(host);
  if (at >= 0) silentTo.splice(at, 1);
  return at >= 0;
}

/** A proxy that takes CONNECT, with a name and a password. */
export async function startHttpProxy(t: TestContext, hosts: Hosts = {}): Promise<Proxy> {
  const led: string[] = [];
  const ports = new Set<number>();
  const silentTo: string[] = [];
  const server = createHttpServer();
  server.on('connect', (request, socket: Socket) => {
    const wanted = `Basic ${Buffer.from('ada:hush').toString('base64')}`;
    if (request.headers['proxy-authorization'] !== wanted) return socket.end('HTTP/1.1 407 No\r\n\r\n');
    led.push(request.url!);
    if (isSilent(silentTo, request.url!)) return;
    const [host, port] = (hosts[request.url!] ?? request.url!).split(':');
    const out = connect(Number(port), host, () => {
      ports.add(out.localPort!);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      join(socket, out);
    });
  });
  const port = await listening(t, server);
  return { address: `http://ada:hush@127.0.0.1:${port}`, led, ports, silentTo };
}

/** SOCKS5 with a name and a password (RFC 1928 and 1929), as far as a client of ours needs it. */
export async function startSocksProxy(t: TestContext, hosts: Hosts = {}): Promise<Proxy> {
  const led: string[] = [];
  const ports = new Set<number>();
  const silentTo: string[] = [];
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
    const name = isName ? asked.subarray(5, end).toString() : asked.subarray(4, 8).join('.');
    const wanted = `${name}:${asked.readUInt16BE(end)}`;
    led.push(wanted);
    if (isSilent(silentTo, wanted)) return;
    const [host, port] = (hosts[wanted] ?? wanted).split(':');
    const out = connect(Number(port), host, () => {
      ports.add(out.localPort!);
      socket.write(Buffer.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0));
      join(socket, out);
    });
  }
  const port = await listening(t, server);
  return { address: `socks5://ada:hush@127.0.0.1:${port}`, led, ports, silentTo };
}
