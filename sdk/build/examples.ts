/** Examples that editors show on the methods that most programs begin with. A test compiles each. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'instances.create': [
    "const { id: instanceId } = await client.instances.create({ body: { name: 'sales' } });",
  ],
  'instances.connect': ['await client.instances.connect({ instanceId });'],
  'messages.sendText': [
    "const sent = await client.messages.sendText({ instanceId, body: { to: '+5511999990000', text: 'Hello' } });",
    'console.log(sent.message_id);',
  ],
  'messages.sendImage': [
    "await client.messages.sendImage({ instanceId, body: { to: '+5511999990000', file: './cat.jpg', caption: 'Tom' } });",
  ],
  'messages.sendDocument': [
    'await client.messages.sendDocument({',
    '  instanceId,',
    "  body: { to: '+5511999990000', media_url: 'https://example.com/offer.pdf', file_name: 'offer.pdf' },",
    '});',
  ],
  'messages.get': [
    'const { status, failed_reason } = await client.messages.get({ instanceId, messageId });',
    'console.log(status, failed_reason);',
  ],
  'messages.list': [
    "for await (const message of iterate(client.messages.list, { instanceId, query: { direction: 'inbound' } })) {",
    '  console.log(message.content);',
    '}',
  ],
  'chats.list': ['const chats = await toArray(client.chats.list, { instanceId }, { max: 500 });'],
  'media.upload': [
    "const { media_id } = await client.media.upload({ instanceId, body: { file: './cat.jpg' } });",
    "await client.messages.sendImage({ instanceId, body: { to: '+5511999990000', media_id } });",
  ],
  'webhooks.create': [
    'const { id, secret } = await client.webhooks.create({',
    "  body: { url: 'https://example.com/hook', events: ['message.*', 'instance.disconnected'] },",
    '});',
  ],
};
