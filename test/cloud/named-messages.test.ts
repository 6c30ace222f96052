import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const ALICE = '5531900000010';

it('a quote and a reaction of a message whose answer was under way go out in order, also from the next worker', async (t) => {
  const cloud = await startCloudSending({ worker: { deferral: { expiresMs: 600_000, retryMs: 100 } } });
  t.after(() => cloud.close());
  const { world } = cloud.graph;
  const instance = await cloud.connect({ humanize_enabled: false });
  await cloud.greet(instance, ALICE);

  world.answerDelayMs = 2_000;
  const named = await cloud.send(instance, '/messages/text', { to: ALICE, text: 'First' });
  await waitFor(async () => world.ledger.length === 1);
  cloud.graph.fault({ kind: 'error', code: 130429 }, { person: ALICE, times: 1_000 });
  const quote = await cloud.send(instance, '/messages/text', { to: ALICE, text: 'Second', quoted_id: named });
  const reaction = await cloud.send(instance, '/messages/reaction', {
    to: ALICE,
    message_id: named,
    emoji: '👍',
  });
  world.answerDelayMs = 0;
  await cloud.reaches(instance, named, 'delivered');
  await waitFor(async () => world.faults[0]!.left < 1_000, undefined, { what: 'the limit is met' });

  await cloud.worker.stop();
  world.faults.length = 0;
  await cloud.startWorker();
  for (const id of [quote, reaction]) await cloud.reaches(instance, id, 'delivered');
  const [first, second, third] = world.ledger;
  assert.deepEqual(second!.body.context, { message_id: first!.id });
  assert.deepEqual(third!.body.reaction, { message_id: first!.id, emoji: '👍' });
  assert.equal(world.ledger.length, 3);
});
