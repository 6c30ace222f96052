import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { json, startHttp } from '../sdk/http-server.ts';
import { freePort, waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const SECRET = `whsec_${randomBytes(24).toString('base64')}`;

function delivery(secret = SECRET) {
  const event = {
    event_id: randomUUID(),
    type: 'message.sent',
    created_at: '2026-01-31T12:00:00.000Z',
    company_id: 7,
    instance_id: null,
    data: { message_ids: ['m'] },
  };
  const body = JSON.stringify(event);
  const now = new Date();
  const headers = {
    'content-type': 'application/json',
    'webhook-id': event.event_id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(event.event_id, now, body),
  };
  return { event, request: { method: 'POST', body, headers } };
}

/** A service that makes the webhook 7 and does not answer requests of one method. */
async function hanging(isHanging: string) {
  const service = await startHttp((res, { method }) => {
    if (method !== isHanging) json(res, 201, { id: 7, secret: SECRET });
  });
  return { ...service, [Symbol.asyncDispose]: () => service.close() };
}

describe('msgctl webhooks listen', () => {
  let cli: Cli;
  before(() => {
    cli = createCli();
  });
  after(() => cli.remove());

  async function listen(...args: string[]) {
    const port = await freePort();
    const running = cli.start(['webhooks', 'listen', '--port', String(port), ...args]);
    await waitFor(() => fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.status === 405), 60_000);
    return { ...running, url: `http://127.0.0.1:${port}/` };
  }

  test('prints genuine webhooks, refuses others, and ends after the count', async () => {
    const receiver = await listen('--secret', SECRET, '--json', '--count', '2');
    const genuine = delivery();
    assert.equal((await fetch(receiver.url, genuine.request)).status, 200);
    assert.equal(
      (await fetch(receiver.url, delivery(`whsec_${randomBytes(24).toString('base64')}`).request)).status,
      400,
    );
    const { code, stdout } = await receiver.ended;
    assert.equal(code, 0);
    const [first, second] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(first, { verified: true, refusal: null, event: genuine.event });
    assert.equal(second.verified, false);
    assert.equal(second.refusal, 'SIGNATURE_MISMATCH');
  });

  test('ends although a connection is silent', async () => {
    const receiver = await listen();
    const port = Number(new URL(receiver.url).port);
    const silent = connect(port, '127.0.0.1');
    const halfSaid = connect(port, '127.0.0.1');
    halfSaid.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    await Promise.all([once(silent, 'connect'), once(halfSaid, 'connect')]);
    for (const socket of [silent, halfSaid]) socket.on('error', () => undefined);
    const { code } = await receiver.stop();
    assert.equal(code, 0);
  });

  test('warns that it checks nothing without a secret', async () => {
    const receiver = await listen();
    await fetch(receiver.url, delivery().request);
    await fetch(receiver.url, { method: 'POST', body: 'not JSON \u001b[2J' });
    const { code, stdout, stderr } = await receiver.stop();
    assert.equal(code, 0, 'Ctrl-C is how it ends');
    assert.match(stderr, /signatures are not checked/);
    assert.match(stdout, /^unchecked +2026-01-31T12:00:00.000Z +message.sent /);
    assert.match(stdout, /\nunchecked +not JSON \\u001b\[2J\n$/);
  });

  test('answers with the requested status, to show retries', async () => {
    const receiver = await listen('--status', '503', '--count', '1');
    assert.equal((await fetch(receiver.url, delivery().request)).status, 503);
    await receiver.ended;
  });

  for (const [what, isHanging, told] of [
    [
      'create the webhook',
      'POST',
      /^msgctl: the webhook may have been created[^\n]*: msgctl webhooks list\n$/,
    ],
    [
      'delete the webhook',
      'DELETE',
      /\nmsgctl: webhook 7 is still there \(TIMEOUT: .*\): msgctl webhooks delete 7\n$/,
    ],
  ] as const) {
    test(`ends soon on Ctrl-C where the service does not answer the call to ${what}, and says so`, async () => {
      await using service = await hanging(isHanging);
      const env = { POSTHORN_URL: service.url, POSTHORN_API_KEY: 'svc_x' };
      const running = cli.start(['webhooks', 'listen', '--port', '0', '--register'], env);
      if (isHanging === 'POST') await waitFor(() => service.seen.length > 0, 60_000);
      else await waitFor(() => running.output().includes('listening on'), 60_000);
      const sinceMs = performance.now();
      const { code, stderr } = await running.stop();
      assert.equal(code, 130);
      assert.match(stderr, told);
      // A call that is not cut takes 30 s, and is then made again.
      assert.ok(performance.now() - sinceMs < 25_000);
    });
  }

  test('reports a taken port', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await cli.run(['webhooks', 'listen', '--port', String(port)]);
    taken.close();
    assert.equal(code, 1);
    assert.equal(stderr, `msgctl: cannot listen on port ${port}: it is in use\n`);
  });
});
