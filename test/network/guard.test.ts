import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { startSandbox } from './sandbox-harness.ts';

const PHONE = '{"phone":"5511977770001"}';
const JSON_TYPE = { 'content-type': 'application/json' };

/** fetch() cannot send a chosen Host or Origin. */
async function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Promise<{ status: number; body: { error_code?: string } }> {
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers });
  outgoing.end(body);
  const [answer] = await once(outgoing, 'response');
  return { status: answer.statusCode, body: JSON.parse(await text(answer)) };
}

for (const [what, host, isServed] of [
  ['this machine by its address', '127.0.0.1:PORT', true],
  ['this machine by another of its addresses', '127.3.2.1:PORT', true],
  ['this machine by name', 'LocalHost:PORT', true],
  ['this machine by IPv6', '[::1]:PORT', true],
  ['a name that is configured', 'sandbox.internal:PORT', true],
  ['an IPv6 address that is configured', '[fd00::5]:PORT', true],
  ['a name that somebody made to point here', 'evil.example:PORT', false],
  ['a name that only begins like this machine', 'localhost.evil.example', false],
  ['a name that only begins like an address of it', '127.0.0.1.evil.example', false],
  ['an address that is not of this machine', '192.168.1.20:PORT', false],
  ['no name at all', 'a b', false],
] as const)
  test(`the control API, asked by ${what}, ${isServed ? 'serves' : 'refuses'} it`, async (t) => {
    const { port } = await startSandbox(t, { allowedHosts: ['sandbox.internal', 'fd00::5', ''] });
    const headers = { host: host.replace('PORT', String(port)) };
    const read = await send(port, 'GET', '/health', headers);
    const written = await send(port, 'POST', '/phones', { ...headers, ...JSON_TYPE }, PHONE);
    assert.deepEqual([read.status, written.status], isServed ? [200, 201] : [403, 403]);
    if (!isServed) assert.equal(written.body.error_code, 'FORBIDDEN');
  });

test('a server that listens on all addresses is not thereby asked by all names', async (t) => {
  const { port } = await startSandbox(t, { host: '0.0.0.0' });
  assert.equal((await send(port, 'GET', '/health', { host: `0.0.0.0:${port}` })).status, 403);
  assert.equal((await send(port, 'GET', '/health', { host: `127.0.0.1:${port}` })).status, 200);
});

const ORIGINS = [
  ['its own', 'http://127.0.0.1:PORT', true],
  ['another site', 'https://evil.example', false],
  ['a site whose name points here', 'http://evil.example:PORT', false],
  ['another server on this machine', 'http://127.0.0.1:1', false],
  ['this machine under another name', 'http://localhost:PORT', false],
  ['a sandboxed frame', 'null', false],
  ['nonsense', 'http://', false],
] as const;

for (const [what, given, isServed] of ORIGINS) {
  test(`a web page of ${what} is ${isServed ? 'served' : 'refused'}`, async (t) => {
    const { port } = await startSandbox(t);
    const origin = given.replace('PORT', String(port));
    const answer = await send(port, 'POST', '/phones', { origin, ...JSON_TYPE }, PHONE);
    assert.equal(answer.status, isServed ? 201 : 403);
    const media = await send(port, 'POST', '/cdn/', { origin, authorization: 'Bearer none' }, 'media');
    assert.equal(media.status, isServed ? 401 : 403);
  });

  test(`a WebSocket of ${what} is ${isServed ? 'taken' : 'refused'}`, async (t) => {
    const { port, url } = await startSandbox(t);
    const socket = new WebSocket(url, { origin: given.replace('PORT', String(port)) });
    const outcome = await Promise.race([
      once(socket, 'open').then(() => 'open'),
      once(socket, 'unexpected-response').then(([, response]) => response.statusCode),
    ]);
    socket.on('error', () => {});
    socket.terminate();
    assert.equal(outcome, isServed ? 'open' : 403);
  });
}

for (const [type, isServed] of [
  ['application/json', true],
  ['application/json; charset=utf-8', true],
  ['APPLICATION/JSON', true],
  ['text/plain', false],
  ['text/plain;charset=UTF-8', false],
  ['application/x-www-form-urlencoded', false],
  ['multipart/form-data; boundary=x', false],
  ['application/jsonp', false],
  [undefined, false],
] as const)
  test(`JSON sent as ${type} is ${isServed ? 'read' : 'refused'}`, async (t) => {
    const { port } = await startSandbox(t);
    const answer = await send(port, 'POST', '/phones', type ? { 'content-type': type } : {}, PHONE);
    assert.equal(answer.status, isServed ? 201 : 415);
  });
