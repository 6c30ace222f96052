import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { baseEnv, waitFor } from '../support/process.ts';
import { MSGCTL } from './msgctl.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const TEXT = { to: '+5511999990000', text: 'Hello' };

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
type Line = any;

describe('msgctl mcp, on its pipes', () => {
  let answer: Answer = () => undefined;
  let server: HttpServer;
  before(async () => {
    server = await startHttp((res, request, index) => answer(res, request, index));
  });
  after(() => server.close());

  function start() {
    const child = spawn(process.execPath, [MSGCTL, 'mcp', '--allow-writes', '--instance', INSTANCE], {
      env: {
        ...baseEnv(),
        POSTHORN_CONFIG: '/nowhere/config.json',
        POSTHORN_URL: server.url,
        POSTHORN_API_KEY: 'svc_x',
      },
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    child.stdin.on('error', () => undefined);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = once(child, 'close');
    /** Every line on stdout must be JSON-RPC. */
    const lines = (): Line[] =>
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const parsed = JSON.parse(line) as Line;
          assert.equal(parsed.jsonrpc, '2.0');
          return parsed;
        });
    return {
      child,
      lines,
      write: (message: unknown) =>
        child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`),
      answerTo: (id: number) => waitFor(() => lines().find((line) => line.id === id), 60_000),
      async ended() {
        const [code] = await ended;
        return { code: code as number | null, lines: lines(), stderr };
      },
    };
  }
  const call = (id: number, args: object, name = 'messages_sendText') => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
  const asked = (from: number) => waitFor(() => server.seen.length > from, 60_000);

  test('answers a call that is under way when its input ends, and then ends', async () => {
    answer = (res) => void setTimeout(() => json(res, 202, { message_id: 'm1' }), 500);
    const mcp = start();
    mcp.write(call(2, TEXT));
    mcp.child.stdin.end();
    const { code, lines, stderr } = await mcp.ended();
    assert.deepEqual([code, stderr, lines.length], [0, '', 1]);
    assert.equal(lines[0].result.structuredContent.result.message_id, 'm1');
  });

  test('tells the key of a send that a kill called off', async () => {
    answer = () => undefined;
    const from = server.seen.length;
    const mcp = start();
    mcp.write(call(2, TEXT));
    await asked(from);
    mcp.child.kill('SIGTERM');
    const { code, lines } = await mcp.ended();
    assert.equal(code, 0);
    const { error, next_steps } = lines[0].result.structuredContent;
    assert.equal(error.code, 'ABORTED');
    assert.ok(next_steps[0].includes(server.seen[from]?.headers['idempotency-key']));
  });

  test('stops a call that the client cancels, and does not answer it', async () => {
    let isCut = false;
    answer = (res) => {
      res.on('close', () => {
        isCut = true;
      });
    };
    const from = server.seen.length;
    const mcp = start();
    mcp.write(call(2, { message_id: 'm1' }, 'messages_get'));
    await asked(from);
    mcp.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
    // The call itself would end after 30 s.
    await waitFor(() => isCut, 20_000);
    mcp.child.stdin.end();
    assert.deepEqual((await mcp.ended()).lines, []);
  });

  test('says of a line that it cannot read that it was no request', async () => {
    const mcp = start();
    for (const line of ['{oops', [ping(2)], { ...ping(3), id: null }, ping(4)]) mcp.write(line);
    mcp.child.stdin.end();
    const { code, lines } = await mcp.ended();
    assert.equal(code, 0);
    const unread = lines.filter(({ id }) => id === null).map(({ error }) => error.code);
    assert.deepEqual(unread, [-32700, -32600, -32600]);
    assert.deepEqual(
      lines.filter(({ id }) => id !== null),
      [{ jsonrpc: '2.0', id: 4, result: {} }],
    );
  });

  test('keeps all answers for a client that reads none for a while, without a word on stderr', async () => {
    const instance = { id: INSTANCE, name: 'x'.repeat(100_000) };
    answer = (res) => json(res, 200, instance);
    const from = server.seen.length;
    const mcp = start();
    mcp.child.stdout.pause();
    for (let id = 1; id <= 20; id += 1) mcp.write(call(id, {}, 'instances_get'));
    await waitFor(() => server.seen.length === from + 20, 60_000);
    await delay(500);
    mcp.child.stdout.resume();
    mcp.child.stdin.end();
    const { lines, stderr } = await mcp.ended();
    assert.deepEqual([lines.length, stderr], [20, '']);
    for (const { result } of lines) assert.deepEqual(result.structuredContent.result, instance);
  });

  test('ends with an error at a line that is too long to be read', async () => {
    const mcp = start();
    mcp.write('x'.repeat(11 * 1024 * 1024));
    const { code, lines, stderr } = await mcp.ended();
    assert.deepEqual([code, lines], [1, []]);
    assert.match(stderr, /^msgctl: cannot read requests: .*10485760 bytes\n$/);
  });

  test('answers the calls under way at such a line, and nothing after it', async () => {
    answer = () => undefined;
    const from = server.seen.length;
    const mcp = start();
    mcp.write(call(2, TEXT));
    await asked(from);
    mcp.write('x'.repeat(11 * 1024 * 1024));
    mcp.write(ping(3));
    const { code, lines, stderr } = await mcp.ended();
    assert.equal(code, 1);
    assert.match(stderr, /^msgctl: cannot read requests: .*10485760 bytes\n$/);
    assert.deepEqual(
      lines.map(({ id, result }) => [id, result.structuredContent.error.code]),
      [[2, 'ABORTED']],
    );
  });

  test('names that are no text reach no other instance, message or key', async () => {
    answer = (res) => json(res, 202, { message_id: 'm1' });
    const from = server.seen.length;
    const mcp = start();
    const wrong: [object, string][] = [
      [{ ...TEXT, instance_id: [INSTANCE] }, 'messages_sendText'],
      [{ ...TEXT, idempotency_key: { mine: 1 } }, 'messages_sendText'],
      [{ message_id: {} }, 'messages_get'],
      [{ message_id: 'm1', instance_id: {} }, 'messages_waitFor'],
      [{ message_id: 'm1', instanceId: INSTANCE }, 'messages_waitFor'],
    ];
    for (const [at, [args, name]] of wrong.entries()) {
      mcp.write(call(at, args, name));
      const { error } = (await mcp.answerTo(at)).result.structuredContent;
      assert.match(error.message, /must be a string|no argument instanceId/, name);
    }
    assert.equal(server.seen.length, from);
    // An empty text is how models leave out what they may.
    mcp.write(call(9, { ...TEXT, instance_id: '', idempotency_key: '' }));
    await mcp.answerTo(9);
    mcp.child.stdin.end();
    await mcp.ended();
    const [sent, ...more] = server.seen.slice(from);
    assert.deepEqual([sent?.url, more], [`/v1/instances/${INSTANCE}/messages/text`, []]);
    assert.match(String(sent?.headers['idempotency-key']), /^[\w-]{36}$/);
  });
});
