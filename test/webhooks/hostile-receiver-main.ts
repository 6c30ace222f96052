/**
 * Hostile endpoints, in a process of their own so that the sender's memory can be measured apart from theirs. The path
 * chooses the behaviour. Prints its two ports: http, https (self-signed).
 */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';

/** A worthless key: made for this file, for localhost, and nobody trusts it. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgURGVxng+TpUWURoQ
IKnMjf5o78phd8MsiOjQ5BVPaCihRANCAARPEnwlVapUSXaDbzzqdxj/E3SyZDlY
NE7YXnJ9yQBc0Qvl2bH6oaycdmiXwRYQWPCROMkPea2IAHJ8KOJj7CBA
-----END PRIVATE KEY-----`;
const CERT = `-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUYZZcclpqkF6dOqoiTi9B/K+y94IwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA4MDM0NFoYDzIxMjYxMDI4
MDgwMzQ0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARPEnwlVapUSXaDbzzqdxj/E3SyZDlYNE7YXnJ9yQBc0Qvl2bH6oayc
dmiXwRYQWPCROMkPea2IAHJ8KOJj7CBAo1MwUTAdBgNVHQ4EFgQUJBsyAWJF0+/I
js1yuFcAJmKMQxMwHwYDVR0jBBgwFoAUJBsyAWJF0+/Ijs1yuFcAJmKMQxMwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAV8EGAAPNKkq38AVWcUnJQ
8huoH/qvDVCJDXsAxlgPEwIgSzYfx0CyIJRVXIVB8ZpnJiVMCwQsE5Mor0TZoPJw
Cg4=
-----END CERTIFICATE-----`;

const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const BLOCK = Buffer.alloc(64 * 1024, 65);

/** Stands for an internal service: each connection is a sender that was misled. */
let canaryConnections = 0;
const canary = createTcpServer((socket) => {
  canaryConnections += 1;
  socket.destroy();
});
await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
const canaryPort = portOf(canary);

const behave: RequestListener = (req, res) => {
  const kind = req.url!.slice(1);
  res.on('error', () => undefined);
  req.resume();
  req.on('error', () => undefined);
  if (/^\d+$/.test(kind)) {
    res.writeHead(Number(kind)).end(`answered ${kind}`);
  } else if (kind === 'drip' || kind === 'headers') {
    // One byte a second: in the body, or before the headers are complete.
    if (kind === 'drip') res.writeHead(200, { 'content-length': '1000' });
    else req.socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
    const timer = setInterval(() => (kind === 'drip' ? res.write('x') : req.socket.write('x')), 1_000);
    req.socket.once('close', () => clearInterval(timer));
  } else if (kind === 'endless') {
    res.writeHead(200);
    const more = () => {
      while (!res.destroyed && res.write(BLOCK));
    };
    res.on('drain', more);
    more();
  } else if (kind === 'bomb') {
    res.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB);
  } else if (kind === 'redirect') {
    res.writeHead(302, { location: `http://127.0.0.1:${canaryPort}/internal` }).end();
  } else if (kind.startsWith('cut')) {
    // Its status is complete, but its body never will be.
    res.writeHead(Number(kind.slice(3)), { 'content-length': '1000' });
    res.write('half', () => req.socket.destroy());
  } else if (kind === 'reset') {
    req.socket.resetAndDestroy();
  } else if (kind === 'garbage') {
    req.socket.end('SSH-2.0-nothing here\r\n\r\n');
  }
  // 'hang' and any other kind: no answer ever.
};

const http = createServer(behave);
const https = createTlsServer({ key: KEY, cert: CERT }, behave);
await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
console.log(JSON.stringify({ http: portOf(http), https: portOf(https), canary: canaryPort }));
createInterface({ input: process.stdin })
  .on('line', () => console.log(canaryConnections))
  .on('close', () => process.exit(0));

function portOf(server: { address(): unknown }): number {
  return (server.address() as { port: number }).port;
}
