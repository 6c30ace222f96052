import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { describeFault } from '@posthorn/cli/fault.ts';
import { errorCatalogue } from '@posthorn/contract/errors.ts';
import { PosthornError } from '@posthorn/sdk/index.ts';
import { type Answer, type HttpServer, json, refuse, startHttp, TRACE_ID } from '../sdk/http-server.ts';
import { baseEnv, freePort } from '../support/process.ts';
import { MSGCTL } from './msgctl.ts';
import { type Cli, createCli } from './run-cli.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const PAGE = { data: [], total: 0, page: 1, limit: 50 };

describe('msgctl in front of a service that misbehaves', () => {
  let answer: Answer = (res) => json(res, 200, PAGE);
  let server: HttpServer;
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, request, index) => answer(res, request, index));
    cli = createCli({
      POSTHORN_URL: server.url,
      POSTHORN_API_KEY: 'svc_secret',
      POSTHORN_INSTANCE: INSTANCE,
    });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });

  async function failure(how: Answer, args: string[], env = {}) {
    answer = how;
    const result = await cli.run(args, env);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, /^msgctl: [^\n]+\n$/, 'one line');
    assert.doesNotMatch(result.stderr, /svc_/);
    return result;
  }

  test('reports a refusal of the service in one line, with code and trace id, and exits with 1', async () => {
    const { code, stderr } = await failure(
      (res) => refuse(res, 409, 'INSTANCE_NOT_CONNECTED'),
      ['send', 'text', '--to', '+5511999990000', '--text', 'hi'],
    );
    assert.equal(code, 1);
    assert.equal(stderr, `msgctl: INSTANCE_NOT_CONNECTED: instance not connected (trace ${TRACE_ID})\n`);
  });

  test('names --force when that header would pass the refusal, and only then', () => {
    for (const [code, { status, message }] of Object.entries(errorCatalogue)) {
      const { line } = describeFault(new PosthornError({ code, status, message }));
      assert.equal(line.includes('--force'), message.includes('X-Force-Send'), line);
    }
  });

  test('reports it as JSON with --json, and prints nothing to stdout', async () => {
    answer = (res) => refuse(res, 404, 'WEBHOOK_NOT_FOUND');
    const { code, stdout, stderr } = await cli.run(['--json', 'webhooks', 'get', '7']);
    assert.deepEqual({ code, stdout }, { code: 5, stdout: '' });
    assert.deepEqual(JSON.parse(stderr), {
      error: {
        code: 'WEBHOOK_NOT_FOUND',
        message: 'webhook not found',
        status: 404,
        trace_id: TRACE_ID,
        retry_after_ms: null,
        idempotency_key: null,
        attempts: 1,
        exit_code: 5,
      },
    });
  });

  test('prints the key of a failed send, so that it can be repeated', async () => {
    answer = (res) => refuse(res, 409, 'INSTANCE_NOT_CONNECTED');
    const send = ['send', 'text', '--to', '+5511999990000', '--text', 'hi', '--json'];
    const { error } = JSON.parse((await cli.run(send)).stderr);
    assert.equal(error.idempotency_key, server.seen.at(-1)?.headers['idempotency-key']);
  });

  test('prints the accepted message when the service goes away before it has arrived', async () => {
    answer = (res, { method }) =>
      method === 'POST' ? json(res, 202, { message_id: 'm1' }) : void res.socket?.resetAndDestroy();
    const send = ['send', 'text', '--to', '+5511999990000', '--text', 'Hello', '--wait', 'sent', '--json'];
    const { code, stderr } = await cli.run(send);
    const { error } = JSON.parse(stderr);
    assert.deepEqual([code, error.code, error.message_id], [3, 'NETWORK', 'm1']);
  });

  test('reports input that it does not understand as JSON, too', async () => {
    const { code, stdout, stderr } = await cli.run(['instances', 'list', '--al', '--json']);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.equal(JSON.parse(stderr).error.code, 'USAGE');
  });

  test('refuses a text or a body from a pipe that is not UTF-8', async () => {
    const before = server.seen.length;
    for (const [args, piped] of [
      [['send', 'text', '--to', '+5511999990000', '--text', '-'], 'Olá'],
      [['api', 'POST', '/v1/webhooks', '--body', '-'], '{"url":"https://a.test/olá"}'],
    ] as [string[], string][]) {
      const { code, stderr } = await cli.run(args, {}, Buffer.from(piped, 'latin1'));
      assert.deepEqual([code, stderr], [2, 'msgctl: the text from the pipe is not UTF-8\n']);
    }
    assert.equal(server.seen.length, before);
  });

  for (const [status, code, exitCode] of [
    [401, 'TOKEN_INVALID', 4],
    [403, 'INSUFFICIENT_PERMISSIONS', 4],
    [404, 'INSTANCE_NOT_FOUND', 5],
    [409, 'CONFLICT', 1],
    [503, 'SERVICE_UNAVAILABLE', 6],
  ] as const) {
    test(`exits with ${exitCode} for ${status}`, async () => {
      const result = await failure((res) => refuse(res, status, code), ['tokens', 'revoke', '7', '--yes']);
      assert.equal(result.code, exitCode);
    });
  }

  test('does not destroy anything unasked where nobody can answer', async () => {
    const before = server.seen.length;
    const { code, stderr } = await failure((res) => json(res, 200, PAGE), ['tokens', 'revoke', '7']);
    assert.equal(code, 2);
    assert.match(stderr, /This ends the API key: give --yes/);
    assert.equal(server.seen.length, before);
  });

  for (const [what, args, meant] of [
    ['a flag', ['instances', 'list', '--stat', 'CREATED'], '--state'],
    ['a command', ['instances', 'lits'], 'list'],
    ['a field', ['send', 'image', '--to', '+5511999990000', 'captoin=Hi'], 'caption'],
    ['a setting', ['instances', 'settings', 'set', 'humanise_enabled=false'], 'humanize_enabled'],
    ['a path', ['api', 'GET', '/v1/instance'], '/v1/instances'],
  ] as [string, string[], string][]) {
    test(`suggests another one for ${what} that is unknown`, async () => {
      const before = server.seen.length;
      const { code, stderr } = await failure((res) => json(res, 200, PAGE), args);
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`[Dd]id you mean ${meant}\\?`));
      assert.equal(server.seen.length, before);
    });
  }

  test('prints how long to wait when it is asked to', async () => {
    const { code, stderr } = await failure(
      (res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '600' }),
      ['instances', 'list'],
    );
    assert.equal(code, 6);
    assert.match(stderr, /try again in 600 s/);
  });

  test('does not print the page of a proxy', async () => {
    const { code, stderr } = await failure(
      (res) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<html>\n<h1>Bad\nGateway'),
      ['webhooks', 'delete', '7', '--yes'],
    );
    assert.equal(code, 1);
    assert.match(stderr, /^msgctl: BAD_GATEWAY: /);
    assert.doesNotMatch(stderr, /<h/);
  });

  test('makes messages of the service harmless', async () => {
    const { stderr } = await failure(
      (res) => json(res, 400, { error_code: 'BAD_REQUEST', message: 'a\u001b[2J\nb' }),
      ['tokens', 'list'],
    );
    assert.equal(stderr, 'msgctl: BAD_REQUEST: a\\u001b[2J b\n');
  });

  test('exits with 3 when nobody listens, or the connection is reset', async () => {
    const nobody = { POSTHORN_URL: `http://127.0.0.1:${await freePort()}` };
    const refused = await failure(() => undefined, ['health'], nobody);
    assert.equal(refused.code, 3);
    assert.match(
      refused.stderr,
      /^msgctl: NETWORK: cannot reach http:\/\/127\.0\.0\.1:\d+: connection refused/,
    );
    const plain = await failure(() => undefined, ['health'], {
      POSTHORN_URL: server.url.replace('http:', 'https:'),
    });
    assert.match(plain.stderr, /^msgctl: NETWORK: cannot reach https:.*: it does not speak TLS, try http:/);
    const tail = await failure(() => undefined, ['events', 'tail'], nobody);
    assert.equal(tail.code, 3, 'a stream that never began');
    const reset = await failure(
      (res) => void res.socket?.resetAndDestroy(),
      ['tokens', 'revoke', '7', '--yes'],
    );
    assert.equal(reset.code, 3);
  });

  test('survives a service that breaks in between, with one send under one key', async () => {
    const from = server.seen.length;
    answer = (res, _, index) =>
      index === from
        ? void res.socket?.resetAndDestroy()
        : json(res, 202, { status: 'queued', message_id: 'm' });
    const sent = await cli.json(['send', 'text', '--to', '+5511999990000', '--text', 'hi']);
    assert.equal(sent.message_id, 'm');
    const keys = server.seen.slice(from).map(({ headers }) => headers['idempotency-key']);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
  });

  for (const [what, args] of [
    ['an unknown command', ['instances', 'lst']],
    ['an unknown flag', ['instances', 'list', '--all']],
    ['a missing flag', ['send', 'text', '--to', 'x']],
    ['a missing argument', ['webhooks', 'get']],
    ['one argument too many', ['usage', 'now']],
    ['a number that is none', ['webhooks', 'get', 'seven']],
    ['a number out of range', ['instances', 'list', '--limit', '0']],
    ['an unknown state', ['instances', 'list', '--state', 'ASLEEP']],
    ['two flags that exclude each other', ['events', 'tail', '--since', '1h', '--cursor', 'x']],
    ['no URL', ['usage', '--url', 'localhost']],
    ['a user in the address', ['usage', '--url', 'http://svc_user:svc_secret@127.0.0.1:1']],
    ['a user in an address of another kind', ['usage', '--url', 'ftp://svc_user:svc_secret@127.0.0.1:1']],
    ['a query in the address', ['usage', '--url', 'http://127.0.0.1:1/?key=svc_x']],
    ['a fragment in the address', ['health', '--url', 'http://127.0.0.1:1/#svc_x']],
    [
      'a user in the address of the billing',
      ['billing', 'plans', '--billing-url', 'http://svc_x@127.0.0.1:1'],
    ],
    ['no URL of the billing', ['billing', 'plans', '--billing-url', 'localhost']],
    ['no URL of the sandbox', ['sandbox', 'phones', 'get', '5511', '--sandbox-url', 'localhost']],
  ] as [string, string[]][]) {
    test(`exits with 2 for ${what}, and sends nothing to the service`, async () => {
      const before = server.seen.length;
      const { code } = await failure((res) => json(res, 200, PAGE), args);
      assert.equal(code, 2);
      assert.equal(server.seen.length, before);
    });
  }

  test('shows the commands of a group, on stderr and with 2, when none was named', async () => {
    const { code, stdout, stderr } = await cli.run(['instances']);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, /create.*Create an instance/);
  });

  test('prints no escape code without a terminal, not even from received texts', async () => {
    answer = (res) =>
      json(res, 200, { ...PAGE, data: [{ id: 'x', name: '\u001b[31mred', state: 'CREATED' }], total: 1 });
    const { stdout, stderr } = await cli.run(['instances', 'list'], { FORCE_COLOR: '3' });
    assert.match(stdout, /\\u001b\[31mred/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not come out
    assert.doesNotMatch(stdout + stderr, /\u001b/);
  });

  test('prints JSON whose texts change nothing of a terminal, and mean the same', async () => {
    const said = '\u009b31mred\u007f\u202e';
    answer = (res) =>
      json(res, 200, { ...PAGE, data: [{ id: 'x', name: said, state: 'CREATED' }], total: 1 });
    for (const args of [
      ['instances', 'list', '--json'],
      ['api', 'GET', '/v1/instances'],
    ]) {
      const { stdout } = await cli.run(args);
      assert.equal(JSON.parse(stdout).data[0].name, said);
      assert.match(stdout, /\\u009b31mred\\u007f\\u202e/);
    }
  });

  test('prints whole lists into a pipe', async () => {
    const data = Array.from({ length: 3_000 }, (_, at) => ({ id: at, name: 'n'.repeat(300), last4: 'abcd' }));
    answer = (res) => json(res, 200, { data, total: data.length, page: 1, limit: data.length });
    const { data: printed } = await cli.json<{ data: unknown[] }>(['tokens', 'list']);
    assert.equal(printed.length, 3_000);
  });

  test('ends quietly when its reader stops reading', async () => {
    const data = Array.from({ length: 20_000 }, (_, at) => ({ id: at, name: 'n'.repeat(300) }));
    answer = (res) => json(res, 200, { data, total: data.length, page: 1, limit: data.length });
    const child = spawn(process.execPath, [MSGCTL, 'tokens', 'list'], {
      env: { ...baseEnv(), POSTHORN_CONFIG: cli.config, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' },
    });
    let said = '';
    child.stderr.on('data', (chunk) => (said += chunk));
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = await once(child, 'exit');
    assert.deepEqual({ code, said }, { code: 0, said: '' });
  });

  test('does not pass over output that could not be written', async () => {
    answer = (res) => json(res, 200, PAGE);
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [MSGCTL, 'tokens', 'list'], {
      env: { ...baseEnv(), POSTHORN_CONFIG: cli.config, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' },
      stdio: ['ignore', full, 'pipe'],
    });
    const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)]);
    closeSync(full);
    assert.equal(code, 1);
    assert.match(said, /^msgctl: cannot write the output: [^\n]*ENOSPC[^\n]*\n$/);
  });

  test('reports the missing part when the service is alive but not ready, and exits with 1', async () => {
    answer = (res, { url }) =>
      url === '/health'
        ? json(res, 200, { status: 'ok', service: 'messaging' })
        : json(res, 503, { status: 'unavailable', service: 'messaging', checks: { database: 'away' } });
    const { code, stdout, stderr } = await cli.run(['health']);
    assert.equal(code, 1);
    assert.match(stdout, /status +unavailable\ndatabase +away/);
    assert.equal(stderr, 'msgctl: the service is not ready\n');
  });

  test('stops waiting on Ctrl-C with 130', async () => {
    answer = (res) => json(res, 200, { id: INSTANCE, state: 'PAIRING', last_error: null });
    const waiting = cli.start(['instances', 'connect', '--wait']);
    const from = server.seen.length;
    while (server.seen.length < from + 2) await new Promise((resolve) => setTimeout(resolve, 20));
    const { code, stderr } = await waiting.stop();
    assert.deepEqual({ code, stderr }, { code: 130, stderr: '' });
  });

  test('gives up waiting with 1 and an advice', async () => {
    answer = (res) => json(res, 200, { id: INSTANCE, state: 'PAIRING', last_error: null });
    const { code, stderr } = await cli.run(['instances', 'connect', '--wait', '--timeout', '1']);
    assert.equal(code, 1);
    assert.match(stderr, /still PAIRING; pair it: msgctl pair/);
    answer = (res) => json(res, 200, { id: INSTANCE, state: 'BANNED', last_error: 'banned' });
    const banned = await cli.run(['instances', 'connect', '--wait']);
    assert.equal(banned.code, 1);
    assert.match(banned.stderr, /is BANNED \(banned\)/);
  });
});
