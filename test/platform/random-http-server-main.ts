import { randomBytes, randomInt } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const STATUSES = [
  ...[100, 101, 103, 200, 200, 200, 200, 201, 204, 206, 206, 301, 302, 304, 308],
  ...[400, 401, 403, 404, 408, 409, 412, 416, 429, 500, 502, 503, 504, 999],
];
const TYPES = ['application/json', 'application/xml', 'text/html', 'nonsense'];
const HEADERS = [
  ...['retry-after: 0', 'retry-after: never', 'retry-after: -1', 'location: /', 'location: ::'],
  ...['location: http://127.0.0.1:1/', 'content-encoding: gzip', 'etag: "x"', 'connection: close'],
];
const BODIES = [
  ...['', '{', '{}', '[]', 'null', '"x"', '<html>', '<a><b></a>', 'x'.repeat(200_000)],
  ...['{"access_token":"x","token_type":"Bearer","expires_in":1}', '{"error":{"code":503}}'],
  // From Meta's Graph API: the address of a medium, and the id of an uploaded one.
  ...['{"url":"HERE/media","id":"1"}', '{"url":"HERE/media","id":"1"}'],
  '<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>',
  '<?xml version="1.0"?><Error><Code>NoSuchKey</Code>',
  '<?xml version="1.0"?><InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>',
  '<?xml version="1.0"?><CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>',
];

/**
 * Answers each request at random: correctly or wrongly, whole or cut, before the request has come or after it. Prints
 * its port.
 */
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    if (!isWhole(received) && !chance(0.1)) return;
    received = '';
    void answer(socket);
  });
}).listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));

function chance(of: number): boolean {
  return Math.random() < of;
}

function pick<T>(list: readonly T[]): T {
  return list[randomInt(list.length)]!;
}

function isWhole(request: string): boolean {
  const headEnd = request.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  if (/^transfer-encoding: chunked/im.test(request)) return request.endsWith('0\r\n\r\n');
  return request.length >= headEnd + 4 + Number(/^content-length: (\d+)/im.exec(request)?.[1] ?? 0);
}

async function answer(socket: Socket): Promise<void> {
  const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = chance(0.1) ? randomBytes(randomInt(3_000)) : Buffer.from(pick(BODIES).replace('HERE', here));
  const fields = [`HTTP/1.1 ${pick(STATUSES)} X`, `content-type: ${pick(TYPES)}`];
  while (chance(0.3)) fields.push(pick(HEADERS));
  const head = (...more: string[]) => Buffer.from(`${[...fields, ...more].join('\r\n')}\r\n\r\n`);
  const length = (bytes: number) => `content-length: ${Math.max(0, bytes)}`;
  const send = (...parts: Buffer[]) => socket.write(Buffer.concat(parts));
  await pick([
    () => send(head(length(body.length)), body),
    () => send(head(length(body.length)), body),
    () => send(head(length(body.length)), body),
    () => send(head(length(body.length + 100)), body),
    () => send(head(length(body.length - 5)), body),
    () => send(head(), body),
    () => send(head('transfer-encoding: chunked'), Buffer.from('5\r\nhello\r\n')),
    () => send(head('transfer-encoding: chunked'), Buffer.from('zz\r\n'), body),
    () => send(body),
    async () => {
      send(head(length(body.length)));
      await delay(randomInt(30));
      send(body);
    },
    () => undefined,
  ])();
  if (chance(0.6)) return;
  await delay(randomInt(20));
  if (chance(0.5)) socket.resetAndDestroy();
  else socket.end();
}
