import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const ALICE = '5531900000010';
const UNREAD = 80;

describe('reading a chat of an official number', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending();
    instance = await cloud.connect();
  });
  after(() => cloud?.close());

  const write = (body: string) => cloud.graph.write(ALICE, instance.number, 'text', { body });
  const isRead = (id: string) => cloud.graph.world.messages.get(id)!.isRead;
  const received = (count: number) =>
    waitFor(async () => (await cloud.events(instance.id, 'text.received')).length === count);
  const read = () => cloud.call(instance.id, 'POST', `/chats/${ALICE}/read`, {});
  const unreadOf = async () => (await cloud.call(instance.id, 'GET', `/chats/${ALICE}`)).body.unread_count;

  it(`marks ${UNREAD} unread messages by the newest one, however slow the network is`, async () => {
    const ids = Array.from({ length: UNREAD }, (_, nth) => write(`${nth}`));
    await received(UNREAD);
    assert.equal(await unreadOf(), UNREAD);
    cloud.graph.world.answerDelayMs = 500;
    const answer = await read();
    cloud.graph.world.answerDelayMs = 0;
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      ids.filter((id) => !isRead(id)),
      [],
    );
    assert.equal(await unreadOf(), 0);
  });

  it('marks those before a message whose id the network has forgotten', async () => {
    const known = write('Known');
    await received(UNREAD + 1);
    const { messages } = cloud.graph.world;
    const forgotten = write('Forgotten');
    await received(UNREAD + 2);
    messages.delete(forgotten);
    const answer = await read();
    assert.equal(answer.status, 200, answer.text);
    assert.equal(isRead(known), true);
  });
});
