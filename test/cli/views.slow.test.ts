import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { drawQr } from '@posthorn/cli/qr/draw.ts';
import { type HttpServer, json, refuse, type SeenRequest, startHttp } from '../sdk/http-server.ts';
import { freePort, waitFor } from '../support/process.ts';
import { LAUNCHER } from './msgctl.ts';
import { type Cli, createCli } from './run-cli.ts';
import { type CliTerminal, openCliTerminal } from './terminal-harness.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const QR = ['2@first,code,of,this,instance', '2@second,code,of,this,instance'];

function instanceOf(state: string, name = 'sales') {
  const nothing = { jid: null, push_name: null, connected_at: null, last_error: null, restriction: null };
  const times = { created_at: '2026-01-31T12:00:00.000Z', updated_at: '2026-01-31T12:00:00.000Z' };
  return { id: INSTANCE, company_id: 7, name, driver: 'sandbox', state, phone: null, ...nothing, ...times };
}

function frame(cursor: string, type: string, data: object): string {
  const event_id = randomUUID();
  const head = {
    event_id,
    type,
    created_at: '2026-01-31T12:00:00.000Z',
    company_id: 7,
    instance_id: INSTANCE,
  };
  return `id: ${cursor}\nevent: ${type}\ndata: ${JSON.stringify({ ...head, data })}\n\n`;
}

/** Every escape sequence that gives a colour. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const COLORS = /\u001b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m/;

test('msgctl api writes no file to a terminal, which might obey it', { timeout: 120_000 }, async (t) => {
  const server = await startHttp((res) => {
    res.writeHead(200, { 'content-type': 'text/plain' }).end('\u001b[2Jwritten by a stranger');
  });
  t.after(server.close);
  const terminal = await openCliTerminal({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_test' });
  t.after(terminal.close);
  const path = `/v1/instances/${INSTANCE}/media/${INSTANCE}`;
  terminal.msgctl(`api GET ${path}`);
  const screen = await terminal.endsWith(1);
  assert.match(screen, /the answer is a file: send it into one, as in > file/);
  assert.doesNotMatch(screen, /stranger/);
  terminal.msgctl(`api GET ${path} > file; cat -v file`);
  assert.match(await terminal.endsWith(0), /a stranger/);
});

describe('views of msgctl in a terminal', { timeout: 500_000 }, () => {
  let state: string;
  let instances: object[];
  let streams: ServerResponse[];
  let other: (res: ServerResponse, request: SeenRequest) => void;
  let server: HttpServer;
  let terminal: CliTerminal;
  before(async () => {
    server = await startHttp((res, request) => {
      const { pathname } = new URL(request.url, 'http://localhost');
      if (pathname === '/v1/events/stream') {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
        streams.push(res);
      } else if (pathname === `/v1/instances/${INSTANCE}`) json(res, 200, instanceOf(state));
      else if (pathname === `/v1/instances/${INSTANCE}/qr`)
        json(res, 200, { qr: QR[0], expires_at: new Date(Date.now() + 60_000).toISOString() });
      else if (pathname === '/v1/instances')
        json(res, 200, { data: instances, total: instances.length, page: 1, limit: 200 });
      else other(res, request);
    });
  });
  beforeEach(async () => {
    const env = { POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', POSTHORN_INSTANCE: INSTANCE };
    terminal = await openCliTerminal(env, { columns: 140, rows: 40 });
    state = 'PAIRING';
    instances = [instanceOf('CONNECTED')];
    streams = [];
    other = (res) => refuse(res, 404, 'NOT_FOUND');
    server.seen.length = 0;
  });
  afterEach(() => terminal?.close());
  after(() => server?.close());

  const drawnIn = (screen: string, qr: string) =>
    drawQr(qr, 'dark').every((line) => screen.includes(line.trimEnd()));

  test('instances qr --watch draws the code, the one that follows it, and ends when it is connected', async () => {
    terminal.msgctl('instances qr --watch');
    await waitFor(() => drawnIn(terminal.screen(), QR[0] as string), 60_000);
    assert.match(terminal.screen(), /valid for \d+ s/);
    const [stream] = await waitFor(() => streams.length > 0 && streams);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    stream?.write(frame('c1', 'instance.qr_updated', { qr: QR[1], expires_at, timestamp: expires_at }));
    await waitFor(() => drawnIn(terminal.screen(), QR[1] as string), 60_000);
    assert.ok(!drawnIn(terminal.screen(), QR[0] as string));
    state = 'CONNECTED';
    assert.match(await terminal.endsWith(0), /state +CONNECTED/);
  });

  test('a terminal that is too small says so, and shows the code once it is larger', async () => {
    terminal.resize(40, 10);
    terminal.msgctl('instances qr --watch');
    await terminal.shows(/The code needs \d+ columns/);
    terminal.resize(100, 40);
    await waitFor(() => drawnIn(terminal.screen(), QR[0] as string), 60_000);
    terminal.press('C-c');
    await terminal.endsWith(130);
  });

  test('instances watch follows states, its filter, and the size of the terminal', async () => {
    instances = [instanceOf('CONNECTED'), { ...instanceOf('BANNED', 'support'), id: randomUUID() }];
    terminal.msgctl('instances watch');
    const wide = await terminal.shows(/support +BANNED/);
    assert.match(wide, /NAME +STATE +PHONE +ERROR +ID/);
    assert.deepEqual(terminal.modes(), { isCursorShown: false, isAlternate: true });
    instances = [instanceOf('DISCONNECTED')];
    await waitFor(() => streams.length > 0);
    streams.at(-1)?.write(frame('c1', 'instance.disconnected', {}));
    await terminal.shows(/sales +DISCONNECTED/);
    terminal.resize(44, 8);
    const narrow = await terminal.shows(/NAME +STATE *$/m);
    for (const line of narrow.split('\n')) assert.ok(line.length <= 44, line);
    terminal.resize(100, 40);
    terminal.type('nothing like it');
    await terminal.shows(/Instances \(0 of 1\) +filter: nothing like it/);
    terminal.press('Escape');
    await terminal.shows(/sales +DISCONNECTED/);
    terminal.press('C-c');
    await terminal.endsWith(0);
  });

  test('events tail shows new events first, and one event in full; nothing in it moves the cursor', async () => {
    terminal.msgctl('events tail');
    await terminal.shows(/live/);
    const stream = await waitFor(() => streams.at(-1));
    stream.write(frame('c1', 'message.sent', { text: 'one' }));
    stream.write(frame('c2', 'message.received', { text: 'two \u001b[2J\u009b2J' }));
    const screen = await terminal.shows(/message\.received[\s\S]*message\.sent/);
    assert.match(screen, /Events \(2\)/);
    terminal.type('received');
    await terminal.shows(/Events \(1 of 2\)/);
    terminal.press('Enter');
    await terminal.shows(/"text": "two \\u001b\[2J\\u009b2J"/);
    terminal.press('Escape');
    await terminal.shows(/TIME +TYPE/);
    stream.end();
    await waitFor(() => streams.length === 2, 60_000);
    assert.equal(server.seen.at(-1)?.headers['last-event-id'], 'c2');
    terminal.press('C-c');
    await terminal.endsWith(0);
  });

  test('deliveries watch shows request and response, and delivers again by a key', async () => {
    const row = {
      log_id: 5,
      webhook_id: 7,
      webhook_url: 'https://a.example/hook',
      event_id: randomUUID(),
      event_type: 'message.sent',
      status_code: 500,
      response: 'out of order',
      attempts: 2,
      success: false,
      error_class: 'server_5xx',
      is_hard_failed: false,
      created_at: '2026-01-31T12:00:00.000Z',
    };
    let rows = [row];
    other = (res, { url, method }) => {
      if (method === 'POST') {
        rows = [{ ...row, log_id: 6, status_code: 200, success: true, error_class: '', attempts: 3 }];
        return json(res, 202, { status: 'queued' });
      }
      if (url.startsWith('/v1/event-deliveries'))
        return json(res, 200, { logs: [{ ...row, id: 5, attempt: 2, payload: '{"event_id":"x"}' }] });
      json(res, 200, { data: rows, total: 1, page: 1, limit: 200 });
    };
    terminal.msgctl('deliveries watch --every 1');
    await terminal.shows(/500 +message\.sent +2 +server_5xx +https:\/\/a\.example\/hook/);
    terminal.press('Enter');
    const detail = await terminal.shows(/attempt 2, .*: 500 server_5xx/);
    assert.match(detail, /POST https:\/\/a\.example\/hook[\s\S]*"event_id": "x"[\s\S]*out of order/);
    terminal.press('C-r');
    await terminal.shows(/is delivered again/);
    assert.ok(
      server.seen.some(({ method, url }) => method === 'POST' && url === '/v1/webhooks/7/logs/5/retry'),
    );
    terminal.press('Escape');
    await terminal.shows(/200 +message\.sent +3 +delivered/);
    terminal.press('C-c');
    await terminal.endsWith(0);
  });

  test('colours are there, and none with NO_COLOR', async () => {
    terminal.msgctl('instances watch');
    await terminal.shows(/sales +CONNECTED/);
    assert.match(terminal.colored(), COLORS);
    terminal.press('C-c');
    await terminal.endsWith(0);
    terminal.enter('export NO_COLOR=1');
    for (const [command, shown] of [
      ['instances watch', /sales +CONNECTED/],
      ['instances qr --watch', /valid for/],
    ] as const) {
      terminal.msgctl(command);
      await terminal.shows(shown);
      assert.doesNotMatch(terminal.colored(), COLORS);
      terminal.press('C-c');
      await terminal.endsWith(command === 'instances watch' ? 0 : 130);
    }
    terminal.enter('unset NO_COLOR');
  });

  test('an upload shows how far it is', async () => {
    other = (res) =>
      json(res, 201, { media_id: INSTANCE, mime_type: 'image/png', file_name: 'a.png', file_size: 1 });
    terminal.enter('head -c 3000000 /dev/zero > a.png');
    terminal.msgctl('media upload a.png');
    const screen = await terminal.endsWith(0);
    assert.match(screen, /█+ 100 % {2}3\.0 of 3\.0 MB {2}a\.png/);
    assert.match(screen, /media_id +6a2f41a3/);
  });

  test('an unreachable service or a wrong option is reported in one line on a clean terminal', async () => {
    const nobody = `--url http://127.0.0.1:${await freePort()}`;
    for (const command of ['instances watch', 'deliveries watch', 'events tail']) {
      terminal.msgctl(`${command} ${nobody}`);
      assert.match(await terminal.endsWith(3), /^msgctl: NETWORK: cannot reach/m);
    }
    terminal.msgctl('deliveries watch --statsu all');
    assert.match(await terminal.endsWith(2), /Did you mean --status\?/);
    terminal.msgctl('deliveries watch --status lost');
    assert.match(await terminal.endsWith(2), /status must be one of/);
  });

  test('a service that goes away is waited for', async () => {
    terminal.msgctl('deliveries watch --every 1');
    other = (res) => json(res, 200, { data: [], total: 0, page: 1, limit: 200 });
    await terminal.shows(/as of/);
    other = (res) => void res.socket?.resetAndDestroy();
    await terminal.shows(/NETWORK, trying again/);
    other = (res) => json(res, 200, { data: [], total: 0, page: 1, limit: 200 });
    await terminal.shows(/as of/);
    terminal.press('C-c');
    await terminal.endsWith(0);
  });
});

describe('the same commands in a pipe', () => {
  let streams: ServerResponse[];
  let instances: object[];
  let server: HttpServer;
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, { url }) => {
      if (url.startsWith('/v1/events/stream')) {
        streams.push(res.writeHead(200, { 'content-type': 'text/event-stream' }));
        res.write(': here\n\n');
      } else json(res, 200, { data: instances, total: instances.length, page: 1, limit: 200 });
    });
    cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', FORCE_COLOR: '3' });
  });
  beforeEach(() => {
    streams = [];
    instances = [instanceOf('CONNECTED')];
  });
  after(async () => {
    cli.remove();
    await server.close();
  });

  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not come out
  const ESCAPE = /\u001b/;

  test('instances watch prints a line for each state', async () => {
    const running = cli.start(['instances', 'watch']);
    await waitFor(() => /sales {2}CONNECTED/.test(running.output()), 60_000);
    instances = [instanceOf('DISCONNECTED')];
    await waitFor(() => streams.length > 0);
    streams[0]?.write(frame('c1', 'instance.disconnected', {}));
    await waitFor(() => /sales {2}DISCONNECTED/.test(running.output()), 60_000);
    const { code, stdout, stderr } = await running.stop();
    assert.equal(code, 0);
    assert.equal(stdout.trim().split('\n').length, 2);
    assert.doesNotMatch(stdout + stderr, ESCAPE);
  });

  test('events tail prints a line for each event', async () => {
    const running = cli.start(['events', 'tail']);
    await waitFor(() => streams.length > 0, 60_000);
    streams[0]?.write(frame('c1', 'message.sent', { text: 'one' }));
    await waitFor(() => /message\.sent/.test(running.output()), 60_000);
    const { code, stdout, stderr } = await running.stop();
    assert.equal(code, 0);
    assert.match(stdout, /^2026-01-31T12:00:00.000Z {2}message\.sent .*\n$/);
    assert.doesNotMatch(stdout + stderr, ESCAPE);
  });

  test('deliveries watch prints new deliveries, and no old ones', async () => {
    const row = {
      webhook_id: 7,
      event_id: 'e',
      status_code: 200,
      attempts: 1,
      success: true,
      error_class: '',
    };
    const old = {
      ...row,
      log_id: 1,
      event_type: 'message.sent',
      webhook_url: 'https://a.example',
      created_at: '2026-01-31T12:00:00.000Z',
    };
    instances = [old];
    const running = cli.start(['deliveries', 'watch', '--every', '1', '--json']);
    await waitFor(() => server.seen.some(({ url }) => url.startsWith('/v1/webhooks/events')), 60_000);
    instances = [{ ...old, log_id: 2, event_type: 'message.read' }, old];
    await waitFor(() => /message\.read/.test(running.output()), 60_000);
    const { code, stdout } = await running.stop();
    assert.equal(code, 0);
    assert.deepEqual(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).log_id),
      [2],
    );
  });

  test('no code of the views is loaded', async () => {
    const trace = path.join(path.dirname(cli.config), '..', 'trace.mjs');
    writeFileSync(
      trace,
      `import { registerHooks } from 'node:module';
registerHooks({ resolve(specifier, context, next) {
  if (['ink', 'react'].includes(specifier)) process.stderr.write('loaded ' + specifier);
  return next(specifier, context);
} });`,
    );
    // The published program has no modules of these names; package.serial.slow.test.ts checks what it loads.
    const sources = createCli(
      { POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', NODE_OPTIONS: `--import ${trace}` },
      { program: LAUNCHER },
    );
    const { code, stderr } = await sources.run(['instances', 'list']);
    sources.remove();
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });
});
