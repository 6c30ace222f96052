import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

describe('business-scoped ids that change', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending();
    instance = await cloud.connect({ humanize_enabled: false });
  });
  after(() => cloud?.close());

  const write = (userId: string, body: string) => {
    cloud.graph.person(userId);
    cloud.graph.write(userId, instance.number, 'text', { body });
    return cloud.drained();
  };
  /** The network reports that a person has another id. */
  const change = (from: string, to: string, more: Record<string, unknown> = {}) => {
    cloud.graph.person(to);
    const system = { type: 'user_changed_user_id', previous_user_id: from, user_id: to, ...more };
    cloud.graph.write(to, instance.number, 'system', system);
    return cloud.drained();
  };
  const chat = async (userId: string) => {
    const answer = await cloud.call(instance.id, 'GET', `/chats/${encodeURIComponent(`${userId}@bsuid`)}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const said = async (chatJid: string) => {
    const path = `/messages?${new URLSearchParams({ chat_jid: chatJid })}`;
    const { body } = await cloud.call(instance.id, 'GET', path);
    return body.data.map((each: { chat_jid: string; content: { text: string } }) => [
      each.chat_jid,
      each.content.text,
    ]);
  };

  it('keep their chat: its messages, its unread count, and answers to the former id', async () => {
    await write('BR.100', 'Before');
    await change('BR.100', 'BR.200');
    assert.deepEqual(await said('BR.200@bsuid'), [['BR.200@bsuid', 'Before']]);
    assert.equal((await chat('BR.200')).unread_count, 1);
    assert.equal((await chat('BR.100')).chat_jid, 'BR.200@bsuid');
    const id = await cloud.send(instance, '/messages/text', { to: 'BR.100@bsuid', text: 'An answer' });
    await cloud.reaches(instance, id, 'delivered');
    assert.equal(cloud.graph.world.ledger.at(-1)!.body.recipient, 'BR.200');
    await write('BR.200', 'After');
    assert.deepEqual(
      new Set(await said('BR.200@bsuid')),
      new Set(['Before', 'An answer', 'After'].map((text) => ['BR.200@bsuid', text])),
    );
    assert.deepEqual(await said('BR.100@bsuid'), await said('BR.200@bsuid'), 'either id names the chat');
    const { data: messages } = (await cloud.call(instance.id, 'GET', '/messages')).body;
    const { message_id } = messages.find(
      ({ content }: { content: { text: string } }) => content.text === 'Before',
    );
    const reaction = { to: 'BR.100@bsuid', message_id, emoji: '👍' };
    await cloud.reaches(instance, await cloud.send(instance, '/messages/reaction', reaction), 'delivered');
    const { data } = (await cloud.call(instance.id, 'GET', '/chats')).body;
    assert.equal(
      data.filter(({ chat_jid: jid }: { chat_jid: string }) => jid.startsWith('BR.')).length,
      1,
      'it is one chat',
    );
  });

  it('are followed by what waits when they change', async () => {
    await write('BR.600', 'Before');
    cloud.graph.world.answerDelayMs = 1_500;
    const ids = ['One', 'Two'].map((text) =>
      cloud.send(instance, '/messages/text', { to: 'BR.600@bsuid', text }),
    );
    const [one, two] = await Promise.all(ids);
    await change('BR.600', 'BR.601');
    cloud.graph.world.answerDelayMs = 0;
    for (const id of [one!, two!]) await cloud.reaches(instance, id, 'delivered');
    assert.deepEqual(
      cloud.graph.world.ledger.slice(-2).map(({ body }) => body.recipient),
      ['BR.600', 'BR.601'],
    );
  });

  it('may change several times, reported in any order and twice, and back again', async () => {
    await write('BR.301', 'First');
    await change('BR.302', 'BR.303');
    await change('BR.301', 'BR.302');
    await change('BR.301', 'BR.302');
    assert.deepEqual(await said('BR.303@bsuid'), [['BR.303@bsuid', 'First']]);
    await change('BR.303', 'BR.304');
    assert.equal((await chat('BR.301')).chat_jid, 'BR.304@bsuid');
    await change('BR.304', 'BR.303');
    for (const userId of ['BR.301', 'BR.302', 'BR.303', 'BR.304'])
      assert.equal((await chat(userId)).chat_jid, 'BR.303@bsuid', userId);
  });

  it('lead to the chat of the number once that is known, which may be written to at once', async () => {
    await write('BR.401', 'Nameless');
    await change('BR.401', 'BR.402');
    const phone = '5531900000402';
    cloud.graph.person('BR.402', { phone, showsPhone: true });
    const id = await cloud.send(instance, '/messages/text', { to: 'BR.402@bsuid', text: 'Hello' });
    // Its status names the person by number and by id.
    await cloud.reaches(instance, id, 'delivered');
    await cloud.drained();
    const jid = `${phone}@s.whatsapp.net`;
    for (const userId of ['BR.401', 'BR.402']) assert.equal((await chat(userId)).chat_jid, jid);
    assert.deepEqual(
      new Set(await said(jid)),
      new Set([
        [jid, 'Nameless'],
        [jid, 'Hello'],
      ]),
    );
    assert.notEqual((await chat('BR.402')).window_until, null);
    for (const to of ['BR.401@bsuid', jid])
      await cloud.send(instance, '/messages/text', { to, text: 'To the number' });
    await waitFor(() => cloud.graph.world.ledger.filter(({ body }) => body.to === phone).length === 2);
  });

  it('lose nothing else when a report about them makes no sense', async () => {
    await write('BR.500', 'Stays');
    await change('BR.500', 'BR.500');
    await change('not an id', 'BR.501');
    await change('BR.500', 'BR.502', { user_id: 7, previous_user_id: undefined });
    await write('BR.503', 'Beside it');
    assert.deepEqual(await said('BR.500@bsuid'), [['BR.500@bsuid', 'Stays']]);
    assert.deepEqual(await said('BR.503@bsuid'), [['BR.503@bsuid', 'Beside it']]);
  });
});
