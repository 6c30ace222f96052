import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

/** The number as everybody writes it; the account is from before numbers in Brazil got a ninth digit. */
const WRITTEN = '5584988887777';
const ACCOUNT = '558488887777';
const CHAT = `${ACCOUNT}@s.whatsapp.net`;

describe('a number whose account has another one', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending();
    instance = await cloud.connect({ humanize_enabled: false, anti_spam_guard_enabled: true });
    cloud.graph.person(ACCOUNT, { otherNumber: WRITTEN });
    await cloud.greet(instance, ACCOUNT);
  });
  after(() => cloud?.close());

  const chats = async () => {
    const { body } = await cloud.call(instance.id, 'GET', '/chats');
    return body.data.map((chat: { chat_jid: string }) => chat.chat_jid);
  };
  const textsOf = async (chatJid: string) => {
    const { body } = await cloud.call(
      instance.id,
      'GET',
      `/messages?${new URLSearchParams({ chat_jid: chatJid })}`,
    );
    return body.data.map((message: { content: { text: string } }) => message.content.text);
  };
  const say = async (text: string) => {
    const id = await cloud.send(instance, '/messages/text', { to: WRITTEN, text });
    await cloud.reaches(instance, id, 'delivered');
    return id;
  };

  it('may be written to in the window that its account opened, before anybody knows which account that is', async () => {
    await say('first');
    assert.equal(cloud.graph.world.ledger.at(-1)!.to, WRITTEN);
  });

  it('has one chat with its account, which either number names', async () => {
    await waitFor(async () => (await chats()).join() === CHAT);
    const id = await say('second');
    assert.equal(cloud.graph.world.ledger.at(-1)!.to, ACCOUNT, 'it is sent to the account');
    for (const event of await cloud.eventsOf(id))
      assert.deepEqual([event.data.chat, event.data.phone], [CHAT, ACCOUNT], event.type);
    assert.deepEqual(await chats(), [CHAT]);
    const texts = await textsOf(CHAT);
    assert.ok(texts.includes('first') && texts.includes('second'), texts.join());
    assert.deepEqual(await textsOf(`${WRITTEN}@s.whatsapp.net`), texts);
    const shown = await cloud.call(instance.id, 'GET', `/chats/${WRITTEN}`);
    assert.equal(shown.body.chat_jid, CHAT);
  });

  it('gets further messages once the account has answered, as the guard wants', async () => {
    await say('third');
    const body = { to: WRITTEN, text: 'too many' };
    const refused = await cloud.call(instance.id, 'POST', '/messages/text', body);
    assert.deepEqual([refused.status, refused.body.outbound_consecutive], [409, 3], refused.text);
    await cloud.greet(instance, ACCOUNT);
    await say('after the answer');
  });

  it('leads nowhere else once the network finds no account there, and to the account again once it does', async () => {
    // They register again, with the number that everybody writes.
    cloud.graph.world.people.delete(ACCOUNT);
    cloud.graph.person(WRITTEN);
    cloud.graph.fault({ kind: 'fail', code: 131026 }, { person: ACCOUNT, times: 1 });
    const lost = await cloud.send(instance, '/messages/text', { to: WRITTEN, text: 'to nobody' });
    await cloud.reaches(instance, lost, 'failed');
    await say('to the new account');
    assert.equal(cloud.graph.world.ledger.at(-1)!.to, WRITTEN);
    // And back.
    cloud.graph.world.people.delete(WRITTEN);
    cloud.graph.person(ACCOUNT, { otherNumber: WRITTEN });
    await say('to the former one');
    await waitFor(async () => {
      const { body } = await cloud.call(instance.id, 'GET', `/chats/${WRITTEN}`);
      return body.chat_jid === CHAT;
    });
  });

  it('is another one than a number that looks alike', async () => {
    const stranger = '5584977776666';
    await cloud.greet(instance, stranger);
    await cloud.reaches(
      instance,
      await cloud.send(instance, '/messages/text', { to: stranger, text: 'hi' }),
      'delivered',
    );
    assert.deepEqual(new Set(await chats()), new Set([CHAT, `${stranger}@s.whatsapp.net`]));
  });
});
