import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

let cloud: CloudSending;
before(async () => {
  cloud = await startCloudSending();
});
after(() => cloud?.close());

it('what was posted for a number before the instance got another one is received, and what comes later is not', async () => {
  const person = '5531900000001';
  const instance = await cloud.connect();
  await cloud.greet(instance, person);
  await cloud.worker.stop();
  const posted = cloud.graph.write(person, instance.number, 'text', { body: 'Are you there?' });
  await waitFor(() => cloud.graph.poster(instance.number).pending() === 0);
  const number = cloud.graph.addNumber({ phone: '5521900000001' });
  // Both are numbers of one app.
  number.appSecret = instance.number.appSecret;
  assert.equal((await cloud.give(instance.id, number)).status, 200);
  await cloud.startWorker();
  await cloud.drained();
  const isReceived = async (networkId: string) => {
    const { rows } = await cloud.api.parts.db.query(
      'SELECT 1 FROM messages WHERE instance_id = $1 AND network_id = $2',
      [instance.id, networkId],
    );
    return rows.length > 0;
  };
  assert.equal(await isReceived(posted), true);
  await delay(1_500);
  const late = cloud.graph.write(person, instance.number, 'text', { body: 'Hello?' });
  await cloud.greet({ id: instance.id, number }, person);
  await cloud.drained();
  assert.equal(await isReceived(late), false);
});
