import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const WRITTEN = '5584988887777';
const ACCOUNT = '558488887777';
const PAIR_RATE_LIMITED = 131056;

let cloud: CloudSending;
let instance: CloudInstance;
before(async () => {
  cloud = await startCloudSending();
  instance = await cloud.connect({ humanize_enabled: false });
  cloud.graph.person(ACCOUNT, { otherNumber: WRITTEN });
  await cloud.greet(instance, ACCOUNT);
});
after(() => cloud?.close());

it('what waits for a number is not overtaken by what is accepted once that leads to an account', async () => {
  const { world } = cloud.graph;
  const say = (text: string) => cloud.send(instance, '/messages/text', { to: WRITTEN, text });
  world.answerDelayMs = 3_000;
  const one = await say('one');
  const two = await say('two');
  await waitFor(() => world.ledger.length === 1);
  // It waits for 4 s and then for 16 s, in which the rest of this happens.
  cloud.graph.fault({ kind: 'error', code: PAIR_RATE_LIMITED }, { times: 2 });
  await waitFor(() => world.faults.every(({ left }) => left < 2));
  world.answerDelayMs = 0;
  await waitFor(async () => {
    const { body } = await cloud.call(instance.id, 'GET', `/chats/${WRITTEN}`);
    return body.chat_jid === `${ACCOUNT}@s.whatsapp.net`;
  });
  const queue = await cloud.call(instance.id, 'GET', '/queue');
  assert.deepEqual(
    queue.body.data.map((task: { chat_jid: string }) => task.chat_jid),
    [`${ACCOUNT}@s.whatsapp.net`],
  );
  const three = await say('three');
  for (const id of [one, two, three]) await cloud.reaches(instance, id, 'delivered');
  assert.deepEqual(
    world.ledger.map(({ body }) => (body.text as { body: string }).body),
    ['one', 'two', 'three'],
  );
});
