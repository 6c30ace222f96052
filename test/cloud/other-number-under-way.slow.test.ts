import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after, before, it } from 'node:test';
import { type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';

const PERSON = '5531900000001';
const RATE_LIMITED = 130429;

let cloud: CloudSending;
/** The questions to send that wait for an answer. */
const held: ServerResponse[] = [];
let holds = false;
/** A Graph API that may hold back its answers. */
const proxy = createServer(async (request, response) => {
  const isSend = request.method === 'POST' && request.url?.endsWith('/messages');
  if (holds && isSend) return void held.push(response);
  const { method = 'GET', headers, url } = request;
  const body = await buffer(request);
  const answer = await fetch(`${cloud.graph.url}${url}`, {
    method,
    headers: {
      authorization: headers.authorization ?? '',
      'content-type': headers['content-type'] ?? 'application/json',
    },
    ...(method === 'GET' ? {} : { body: new Uint8Array(body) }),
  });
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
});

before(async () => {
  const port = await listen(proxy);
  cloud = await startCloudSending({ graphUrl: `http://127.0.0.1:${port}` });
});
after(async () => {
  await cloud?.close();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
});

it('a send that the network refuses for now, after another number was given, does not go out from that', async () => {
  const instance = await cloud.connect({ humanize_enabled: false });
  await cloud.greet(instance, PERSON);
  holds = true;
  const sent = await cloud.send(instance, '/messages/text', { to: PERSON, text: 'Hello' });
  await waitFor(() => held.length > 0);
  holds = false;
  const number = cloud.graph.addNumber({ phone: '5521900000001' });
  assert.equal((await cloud.give(instance.id, number)).status, 200);
  const renewed = { id: instance.id, number };
  await cloud.greet(renewed, '5531900000002');
  const body = JSON.stringify({
    error: { message: 'rate limit', type: 'OAuthException', code: RATE_LIMITED },
  });
  for (const response of held) response.writeHead(400, { 'content-type': 'application/json' }).end(body);
  await waitFor(async () => (await cloud.status(instance, sent)).status !== 'queued');
  assert.deepEqual(
    cloud.graph.world.ledger.map(({ from, to }) => [from, to]),
    [],
  );
  assert.deepEqual(await cloud.status(instance, sent), {
    status: 'failed',
    failed_reason: 'account_changed',
  });
});
