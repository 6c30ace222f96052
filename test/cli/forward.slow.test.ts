import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type Answer, type HttpServer, json, type SeenRequest, startHttp } from '../sdk/http-server.ts';
import { freePort, waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const SECRET = `whsec_${randomBytes(24).toString('base64')}`;

/** An event as the database writes it: with spaces that JSON.stringify would not make. */
function eventOf(type = 'message.sent', data = '{"text": "é \\u0000 \\n", "n": 1.0}') {
  const id = randomUUID();
  return {
    id,
    body: `{"event_id":"${id}","type":"${type}","created_at":"2026-01-31T12:00:00.000Z","company_id":7,"instance_id":null,"data":${data}}`,
  };
}
type Event = ReturnType<typeof eventOf>;

function frame(cursor: string, { body }: Event): string {
  return `id: ${cursor}\nevent: x\ndata: ${body}\n\n`;
}

describe('msgctl webhooks listen --forward-to', () => {
  let stream: (res: ServerResponse, request: SeenRequest) => void;
  let answer: Answer;
  let service: HttpServer;
  let receiver: HttpServer;
  let cli: Cli;
  before(async () => {
    service = await startHttp((res, request) => {
      if (request.url.startsWith('/v1/webhooks/')) return json(res, 200, WEBHOOK);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      stream(res, request);
    });
    receiver = await startHttp((res, request, index) => answer(res, request, index));
    cli = createCli({ POSTHORN_URL: service.url, POSTHORN_API_KEY: 'svc_x' });
  });
  beforeEach(() => {
    service.seen.length = 0;
    receiver.seen.length = 0;
    answer = (res) => void res.end('ok');
  });
  after(async () => {
    cli.remove();
    await receiver.close();
    await service.close();
  });

  const forward = (...args: string[]) =>
    cli.start(['webhooks', 'listen', '--forward-to', `${receiver.url}/hook?a=1`, '--json', ...args]);

  test('signs in to its target with the user in the address, and prints no password', async () => {
    stream = (res) => void res.write(frame('c1', eventOf()));
    answer = (res, _, index) => (index === 0 ? void res.socket?.destroy() : void res.end('ok'));
    const target = receiver.url.replace('://', '://ana:hidden@');
    const { code, stdout, stderr } = await cli.start([
      ...['webhooks', 'listen', '--count', '1', '--forward-to', `${target}/hook`],
    ]).ended;
    assert.equal(code, 0);
    assert.ok(stderr.includes(`forwarding to ${receiver.url}/hook\n`), stderr);
    assert.ok(stderr.includes(`${receiver.url}/hook does not answer`), stderr);
    assert.doesNotMatch(stdout + stderr, /hidden/);
    const basic = `Basic ${Buffer.from('ana:hidden').toString('base64')}`;
    assert.equal(receiver.seen[1]?.headers.authorization, basic);
    const wrong = await cli.run(['webhooks', 'listen', '--forward-to', 'htp://ana:hidden@host']);
    assert.equal(wrong.code, 2);
    assert.doesNotMatch(wrong.stderr, /hidden/);
  });

  test('posts each event as a webhook would: its bytes, its headers, a valid signature', async () => {
    const event = eventOf();
    stream = (res) => void res.write(frame('c1', event));
    const { code, stdout } = await forward('--secret', SECRET, '--header', 'X-Tenant: seven', '--count', '1')
      .ended;
    assert.equal(code, 0);
    const [request] = receiver.seen;
    assert.ok(request);
    assert.equal(`${request.method} ${request.url}`, 'POST /hook?a=1');
    assert.equal(request.body, event.body);
    const headers = request.headers as Record<string, string>;
    assert.deepEqual(
      [headers['content-type'], headers['user-agent'], headers['accept-encoding'], headers['x-tenant']],
      ['application/json', 'Posthorn-Webhooks/1', 'identity', 'seven'],
    );
    assert.equal(headers['webhook-id'], event.id);
    new Webhook(SECRET).verify(request.body, headers);
    const told = JSON.parse(stdout);
    assert.deepEqual(
      { ...told, duration_ms: 0 },
      { event_id: event.id, type: 'message.sent', cursor: 'c1', status: 200, attempts: 1, duration_ms: 0 },
    );
  });

  test('continues where it was after a broken connection, and forwards nothing twice', async () => {
    const [first, second] = [eventOf(), eventOf()];
    stream = (res, request) => {
      if (request.headers['last-event-id'] === undefined) return void res.end(frame('c1', first));
      // Both again: a service may repeat the last one.
      res.write(frame('c1', first) + frame('c2', second));
    };
    await forward('--secret', SECRET, '--count', '2').ended;
    assert.equal(service.seen.at(-1)?.headers['last-event-id'], 'c1');
    assert.deepEqual(
      receiver.seen.map(({ headers }) => headers['webhook-id']),
      [first.id, second.id],
    );
  });

  test('tries an address that does not answer until it does, and signs each try anew', async () => {
    const port = await freePort();
    const event = eventOf();
    stream = (res) => void res.write(frame('c1', event));
    const flags = ['--forward-to', String(port), '--secret', SECRET, '--count', '1'];
    const running = cli.start(['webhooks', 'listen', ...flags]);
    await waitFor(
      () => /does not answer \(connection refused\), trying until it does/.test(running.output()),
      60_000,
    );
    const late = await startHttp((res) => void res.end(), port);
    const { code, stdout } = await running.ended;
    assert.equal(code, 0);
    assert.match(stdout, /^200 {2}message\.sent .* after \d+ tries\n$/);
    new Webhook(SECRET).verify(late.seen[0]?.body ?? '', late.seen[0]?.headers as Record<string, string>);
    await late.close();
  });

  test('retries events that may pass, reports those that do not, and continues', async () => {
    const [first, second] = [eventOf(), eventOf()];
    stream = (res) => void res.write(frame('c1', first) + frame('c2', second));
    answer = (res, _, index) => void res.writeHead([500, 429, 200, 404][index] ?? 200).end();
    const { stdout } = await forward('--secret', SECRET, '--count', '2').ended;
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      told.map(({ event_id, status, attempts }) => [event_id, status, attempts]),
      [
        [first.id, 200, 3],
        [second.id, 404, 1],
      ],
    );
  });

  test('forwards the requests of a webhook: its events, its headers, its test events', async () => {
    const [foreign, own] = [
      eventOf('webhook.test', '{"webhook_id": 8}'),
      eventOf('webhook.test', '{"webhook_id": 7}'),
    ];
    stream = (res) => void res.write(frame('c1', foreign) + frame('c2', own));
    await forward('--secret', SECRET, '--webhook', '7', '--count', '1').ended;
    assert.match(
      decodeURIComponent(service.seen.at(-1)?.url ?? ''),
      /types=message\.\*(,|&types=)webhook\.test/,
    );
    assert.deepEqual(
      receiver.seen.map(({ headers }) => [headers['webhook-id'], headers['x-hook']]),
      [[own.id, 'mine']],
    );
  });

  test('signs with a secret of its own that it keeps', async () => {
    const secretOf = async () => (await cli.run(['webhooks', 'listen', '--print-secret'])).stdout.trim();
    const secret = await secretOf();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(await secretOf(), secret);
    assert.equal(statSync(cli.config).mode & 0o777, 0o600);
    stream = (res) => void res.write(frame('c1', eventOf()));
    await forward('--count', '1').ended;
    const [request] = receiver.seen;
    new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
  });

  test('ends on Ctrl-C, and prints where to continue', async () => {
    const event = eventOf();
    stream = (res) => void res.write(frame('c1', event));
    const running = cli.start(['webhooks', 'listen', '--forward-to', `${receiver.url}/`, '--secret', SECRET]);
    await waitFor(() => running.output().includes(event.id), 60_000);
    const { code, stderr } = await running.stop();
    assert.equal(code, 0);
    assert.match(stderr, /--cursor c1\n$/);
  });

  for (const [what, args] of [
    ['an address that is none', ['--forward-to', 'localhost:3000']],
    ['a secret that is none', ['--forward-to', '3000', '--secret', 'abc']],
    ['a port beside it', ['--forward-to', '3000', '--port', '9000']],
    ['a cursor without it', ['--cursor', 'c1']],
    ['a pattern that no event fits', ['--forward-to', '3000', '--events', 'mesage.sent']],
  ] as [string, string[]][]) {
    test(`refuses ${what}`, async () => {
      const { code, stderr } = await cli.run(['webhooks', 'listen', ...args]);
      assert.equal(code, 2, stderr);
      if (what.startsWith('a pattern')) assert.match(stderr, /did you mean message\.sent\?/);
      assert.equal(service.seen.length, 0);
    });
  }
});

const WEBHOOK = {
  id: 7,
  url: 'https://a.example/hook',
  events: ['message.*'],
  instance_id: null,
  headers: { 'x-hook': 'mine' },
  enabled: true,
};
