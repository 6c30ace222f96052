import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { storeMedia } from '../support/whatsapp/media-server.ts';
import { pairAll, useWhatsAppSystem } from '../support/whatsapp/paired-system.ts';

const LIST = '1700000000@broadcast';

test('a picture to a broadcast list of the account is a message and an event in each chat, with one file for all', async (t) => {
  const { network, system, call } = await useWhatsAppSystem(t);
  const [own, ...friends] = ['5511700000001', '5511700000002', '5511700000003'].map((number) =>
    network.phone(number),
  );
  const [{ id } = { id: '' }] = await pairAll(call, [own!]);
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
    'base64',
  );
  const imageMessage = { ...storeMedia(network.media, 'image', png), mimetype: 'image/png', caption: 'Look' };
  const networkId = own!.broadcast(LIST, friends, { imageMessage });
  const messages = await waitFor(async () => {
    const { body } = await call('GET', `/${id}/messages?type=image`);
    return body.data.length === 2 && body.data;
  }, 60_000);
  const chats = friends.map(({ jid }) => jid).sort();
  assert.deepEqual(messages.map((one: { chat_jid: string }) => one.chat_jid).sort(), chats);
  assert.equal(new Set(messages.map((one: { media_id: string }) => one.media_id)).size, 1);
  assert.ok(messages[0].media_id);
  own!.hears(friends[0]!, networkId, 'read');
  const readIn = async () => {
    const { body } = await call('GET', `/${id}/messages?type=image`);
    return body.data.find((one: { status: string }) => one.status === 'read')?.chat_jid;
  };
  assert.equal(await waitFor(readIn, 60_000), friends[0]!.jid);
  const { rows } = await system.db.query<{ chat: string }>(
    `SELECT data->>'chat' AS chat FROM events WHERE instance_id = $1 AND type = 'message.sent'`,
    [id],
  );
  assert.deepEqual(rows.map(({ chat }) => chat).sort(), chats);
});
