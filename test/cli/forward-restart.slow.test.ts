import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';
import { type Standalone, startStandalone } from './start-standalone.ts';

const PHASE = 15;
const PHONE = '5511999990066';

interface Received {
  id: string;
  body: Buffer;
  isGenuine: boolean;
}

/** A receiver that checks its webhooks with the official library. It can be stopped and started again. */
async function startReceiver(secret: string) {
  const received: Received[] = [];
  const webhook = new Webhook(secret);
  const make = () =>
    createServer(async (request, response) => {
      const body = await buffer(request);
      let isGenuine = true;
      try {
        webhook.verify(body.toString('utf8'), request.headers as Record<string, string>);
      } catch {
        isGenuine = false;
      }
      received.push({ id: String(request.headers['webhook-id']), body, isGenuine });
      response.end();
    });
  let server = make();
  const port = await listen(server);
  return {
    received,
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      const closed = new Promise((done) => server.close(done));
      // Requests under way are answered: when cut off, they would be sent again and be counted here twice.
      const idle = setInterval(() => server.closeIdleConnections(), 20);
      await closed;
      clearInterval(idle);
    },
    async start() {
      server = make();
      await listen(server, port);
    },
  };
}

describe('webhooks listen --forward-to over a restart of the service', { timeout: 500_000 }, () => {
  let system: Standalone;
  let cli: Cli;
  before(async () => {
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    const env = { POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl };
    cli = createCli(env, { timeoutMs: 200_000 });
  });
  after(async () => {
    cli?.remove();
    await system?.stop();
  });

  /** A virtual phone writes to the instance, as often as requested, and repeats while the network is away. */
  async function write(to: string, from: number): Promise<void> {
    for (let nth = from; nth < from + PHASE; nth += 1) {
      const body = JSON.stringify({ to, type: 'text', text: `number ${nth}`, id: `FORWARD${nth}` });
      const post = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
      const url = `${system.sandboxUrl}/phones/${PHONE}/messages`;
      await waitFor(() => fetch(url, post).then((answer) => answer.status === 201), 60_000);
    }
  }

  test('forwards every event, verified, in order, with the bytes of webhooks, and none is missing', async () => {
    await cli.json(['quick-register', '--email', 'a@example.com']);
    const { phone } = await cli.json<{ phone: string }>(['instances', 'create', 'sales', '--wait']);
    const { secret } = await cli.json<{ secret: string }>(['webhooks', 'listen', '--print-secret']);
    const [target, hook] = [await startReceiver(secret), await startReceiver(secret)];
    // A real webhook beside it, whose bytes are compared; it signs with a secret of its own.
    await cli.json(['webhooks', 'create', hook.url, '--events', '*.received']);
    const running = cli.start(['webhooks', 'listen', '--forward-to', target.url, '--events', '*.received']);
    await waitFor(() => /forwarding to/.test(running.output()), 60_000);

    await write(phone, 0);
    await system.server.kill('SIGTERM');
    await target.stop();
    await system.server.restart();
    // The service is back and the receiver is not.
    await write(phone, PHASE);
    await target.start();
    await system.server.kill('SIGKILL');
    await system.server.restart();
    await write(phone, 2 * PHASE);

    // A text causes two events: message.received and text.received.
    const logged = await waitFor(
      async () => {
        const args = ['events', 'list', '--types', '*.received', '--limit', '200'];
        const { data } = await cli.json<{ data: { event_id: string }[] }>(args);
        return data.length === 2 * 3 * PHASE && data.map(({ event_id }) => event_id).reverse();
      },
      60_000,
      { everyMs: 2_000 },
    );
    await waitFor(() => target.received.length >= logged.length, 60_000);
    const { code } = await running.stop();
    assert.equal(code, 0);
    assert.deepEqual(
      target.received.map(({ id }) => id),
      logged,
    );
    assert.deepEqual([...new Set(target.received.map(({ isGenuine }) => isGenuine))], [true]);
    await waitFor(() => new Set(hook.received.map(({ id }) => id)).size >= logged.length, 60_000);
    const bodies = new Map(hook.received.map(({ id, body }) => [id, body.toString('utf8')]));
    for (const { id, body } of target.received) assert.equal(body.toString('utf8'), bodies.get(id));
    await Promise.all([target.stop(), hook.stop()]);
  });
});
