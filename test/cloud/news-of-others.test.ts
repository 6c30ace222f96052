import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';

const ALICE = '5531900000010';

let cloud: CloudSending;
let instance: CloudInstance;
before(async () => {
  cloud = await startCloudSending();
  const id = await cloud.create();
  const number = cloud.graph.addNumber({ phone: '5511988887777' });
  assert.equal((await cloud.give(id, number)).status, 200);
  await cloud.state(id, 'CONNECTED');
  instance = { id, number };
});
after(() => cloud?.close());

it('news of the quality of a number changes that number alone, and no other of its business account', async () => {
  const sibling = cloud.graph.addNumber({ phone: '5511977776666', shares: instance.number });
  const restrictionAfter = async (event: string, phone: string) => {
    cloud.graph.post(instance.number, 'phone_number_quality_update', {
      ...{ metadata: undefined, display_phone_number: phone, current_limit: 'TIER_1K', event },
    });
    await cloud.greet(instance, ALICE);
    return (await cloud.call(instance.id, 'GET', '')).body.restriction;
  };
  assert.equal(await restrictionAfter('FLAGGED', sibling.phone), null);
  assert.equal(await restrictionAfter('FLAGGED', '+55 11 98888-7777'), 'quality_low');
  assert.equal(await restrictionAfter('UNFLAGGED', sibling.phone), 'quality_low');
  assert.equal(await restrictionAfter('UNFLAGGED', '551188887777'), null, 'without the ninth digit');
});

it('a message to a group is not received as one that its writer sent to the number', async () => {
  const group = { group_id: 'Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD' };
  cloud.graph.write(ALICE, instance.number, 'text', { body: 'To all of you' }, group);
  const revoked = await cloud.greet(instance, ALICE);
  cloud.graph.write(ALICE, instance.number, 'revoke', { original_message_id: revoked }, group);
  await cloud.greet(instance, ALICE);
  const texts = (await cloud.events(instance.id, 'text.received')).map(({ data }) => data.content.text);
  assert.deepEqual([...new Set(texts)], ['Hello']);
  assert.deepEqual(await cloud.events(instance.id, 'message.deleted'), []);
});
