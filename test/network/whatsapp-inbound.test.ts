/** The form of each message of the network at the port: a table, without a network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Arrived, readArrived } from '@posthorn/network/whatsapp/wire/inbound.ts';
import { isOurChat, preferPhone, withoutDevice } from '@posthorn/network/whatsapp/wire/jids.ts';
import { openWith, sealWith } from '@posthorn/network/whatsapp/wire/secrets.ts';
import { hashOfOption, optionsOf } from '@posthorn/network/whatsapp/wire/votes.ts';
import type { WireMessage } from '@posthorn/network/whatsapp/wire/wire-types.ts';

const CHAT = '5511911111111@s.whatsapp.net';
const AT = new Date('2026-03-01T12:00:00Z');

function arrived(message: WireMessage, more: Partial<Arrived> = {}): Arrived {
  return { id: 'A1', chat: CHAT, from: CHAT, fromMe: false, pushName: 'Ada', at: AT, message, ...more };
}
const ENVELOPE = { networkId: 'A1', chat: CHAT, from: CHAT, pushName: 'Ada', at: AT };

const mediaKey = new Uint8Array(32).fill(1);
const file = {
  directPath: '/v/t1?x=1',
  mediaKey,
  fileSha256: new Uint8Array(32).fill(2),
  fileLength: { toNumber: () => 1234 },
  mimetype: 'image/jpeg',
};
function media(use: string, mimeType = 'image/jpeg', more: object = {}) {
  return {
    ref: {
      use,
      directPath: '/v/t1?x=1',
      mediaKey: Buffer.from(mediaKey).toString('base64'),
      fileSha256: '02'.repeat(32),
    },
    mimeType,
    fileName: '',
    sizeBytes: 1234,
    ...more,
  };
}

const TABLE: [what: string, message: WireMessage, expected: object][] = [
  ['a text', { conversation: 'hi' }, { type: 'text', content: { text: 'hi' } }],
  [
    'a text with mentions and a preview, as an answer',
    {
      extendedTextMessage: {
        text: 'see https://a.example',
        matchedText: 'https://a.example',
        title: 'A',
        contextInfo: { stanzaId: 'Q1', mentionedJid: ['5511@s.whatsapp.net'] },
      },
    },
    {
      quotedId: 'Q1',
      type: 'text',
      content: {
        text: 'see https://a.example',
        mentions: ['5511@s.whatsapp.net'],
        preview: { url: 'https://a.example', title: 'A' },
      },
    },
  ],
  [
    'a text that was forwarded five times',
    { extendedTextMessage: { text: 'hi', contextInfo: { isForwarded: true, forwardingScore: 5 } } },
    { forwardingScore: 5, type: 'text', content: { text: 'hi' } },
  ],
  [
    'an answer to our status',
    { extendedTextMessage: { text: 'wow', contextInfo: { stanzaId: 'S1', remoteJid: 'status@broadcast' } } },
    { statusId: 'S1', type: 'text', content: { text: 'wow' } },
  ],
  [
    'a picture',
    { imageMessage: { ...file, caption: 'sea' } },
    { type: 'image', content: { caption: 'sea' }, media: media('image') },
  ],
  [
    'a picture that is seen once, in a chat whose messages vanish',
    { ephemeralMessage: { message: { viewOnceMessageV2: { message: { imageMessage: file } } } } },
    { type: 'image', content: { view_once: true }, media: media('image') },
  ],
  [
    'a video',
    { videoMessage: { ...file, mimetype: 'video/mp4' } },
    { type: 'video', content: {}, media: media('video', 'video/mp4') },
  ],
  [
    'a GIF',
    { videoMessage: { ...file, mimetype: 'video/mp4', gifPlayback: true } },
    { type: 'gif', content: {}, media: media('video', 'video/mp4') },
  ],
  [
    'a round video',
    { ptvMessage: { ...file, mimetype: 'video/mp4' } },
    { type: 'ptv', content: {}, media: media('video', 'video/mp4') },
  ],
  [
    'a voice note',
    { audioMessage: { ...file, mimetype: 'audio/ogg; codecs=opus', ptt: true } },
    { type: 'audio', content: { ptt: true }, media: media('audio', 'audio/ogg; codecs=opus') },
  ],
  [
    'a document with a caption',
    {
      documentWithCaptionMessage: {
        message: {
          documentMessage: { ...file, mimetype: 'application/pdf', fileName: 'bill.pdf', caption: 'pay' },
        },
      },
    },
    {
      type: 'document',
      content: { caption: 'pay', file_name: 'bill.pdf' },
      media: media('document', 'application/pdf', { fileName: 'bill.pdf' }),
    },
  ],
  [
    'a sticker that moves',
    { stickerMessage: { ...file, mimetype: 'image/webp', isAnimated: true } },
    { type: 'sticker', content: {}, media: media('image', 'image/webp', { animated: true }) },
  ],
  [
    'media that does not say what opens it',
    { imageMessage: { directPath: '/v/t1', caption: 'sea' } },
    { type: 'image', content: { caption: 'sea' } },
  ],
  [
    'a location',
    { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, name: '', address: 'Street' } },
    { type: 'location', content: { latitude: 1, longitude: 2, address: 'Street' } },
  ],
  [
    'contacts',
    {
      contactsArrayMessage: {
        contacts: [
          { displayName: 'Ada', vcard: 'TEL;waid=5511922222222:+55 11' },
          { displayName: 'Bob', vcard: 'V2' },
        ],
      },
    },
    {
      type: 'contact',
      content: {
        contacts: [
          { name: 'Ada', phone: '+5511922222222', vcard: 'TEL;waid=5511922222222:+55 11' },
          { name: 'Bob', vcard: 'V2' },
        ],
      },
    },
  ],
  [
    'a reaction',
    { reactionMessage: { key: { id: 'B1', remoteJid: CHAT }, text: '👍' } },
    { type: 'reaction', content: { message_id: 'B1', emoji: '👍' } },
  ],
  [
    'a reaction taken back, to a status',
    { reactionMessage: { key: { id: 'S1', remoteJid: 'status@broadcast' }, text: '' } },
    { statusId: 'S1', type: 'reaction', content: { message_id: 'S1', emoji: '', removed: true } },
  ],
  [
    'a poll',
    {
      pollCreationMessageV3: {
        name: 'When?',
        options: [{ optionName: 'a' }, { optionName: 'b' }],
        selectableOptionsCount: 1,
      },
      messageContextInfo: { messageSecret: mediaKey },
    },
    { type: 'poll', content: { question: 'When?', options: ['a', 'b'], max_selections: 1 } },
  ],
  [
    'a poll with as many answers as there are',
    {
      pollCreationMessage: {
        name: 'Q',
        options: [{ optionName: 'a' }, { optionName: 'b' }],
        selectableOptionsCount: 0,
      },
    },
    { type: 'poll', content: { question: 'Q', options: ['a', 'b'], max_selections: 2 } },
  ],
  [
    'an event',
    {
      eventMessage: {
        name: 'Party',
        startTime: { toNumber: () => 1_772_474_400 },
        location: { name: 'Home' },
      },
    },
    { type: 'event', content: { name: 'Party', start_at: '2026-03-02T18:00:00.000Z', location: 'Home' } },
  ],
  [
    'buttons',
    {
      buttonsMessage: {
        contentText: 'pick',
        footerText: '',
        buttons: [{ buttonId: 'b1', buttonText: { displayText: 'One' } }],
      },
    },
    { type: 'template', content: { body_text: 'pick', buttons: [{ text: 'One', id: 'b1' }] } },
  ],
  [
    'a template of a business',
    {
      templateMessage: {
        hydratedTemplate: {
          hydratedTitleText: 'Your order',
          hydratedContentText: 'It is on its way',
          hydratedFooterText: 'The shop',
          hydratedButtons: [
            { quickReplyButton: { displayText: 'Thanks', id: 'b1' } },
            { urlButton: { displayText: 'Where is it?', url: 'https://shop.example/1' } },
            { callButton: { displayText: 'Call us' } },
          ],
        },
      },
    },
    {
      type: 'template',
      content: {
        header_text: 'Your order',
        body_text: 'It is on its way',
        footer_text: 'The shop',
        buttons: [
          { text: 'Thanks', id: 'b1' },
          { text: 'Where is it?', url: 'https://shop.example/1' },
          { text: 'Call us' },
        ],
      },
    },
  ],
  [
    'an interactive message, whatever stands in its buttons',
    {
      interactiveMessage: {
        header: { title: 'Hello' },
        body: { text: 'Choose' },
        nativeFlowMessage: {
          buttons: [
            { name: 'quick_reply', buttonParamsJson: '{"display_text":"Yes","id":"y"}' },
            { name: 'cta_url', buttonParamsJson: 'no JSON' },
            { name: 'x', buttonParamsJson: 'null' },
          ],
        },
      },
    },
    {
      type: 'template',
      content: {
        header_text: 'Hello',
        body_text: 'Choose',
        buttons: [{ text: 'Yes', id: 'y' }, { text: 'cta_url' }, { text: 'x' }],
      },
    },
  ],
  [
    'a list to choose from',
    {
      listMessage: {
        title: 'Menu',
        description: 'What will it be?',
        sections: [{ rows: [{ title: 'Tea', rowId: 't' }] }, { rows: [{ title: 'Soup', rowId: 's' }] }, {}],
      },
    },
    {
      type: 'template',
      content: {
        header_text: 'Menu',
        body_text: 'What will it be?',
        buttons: [
          { text: 'Tea', id: 't' },
          { text: 'Soup', id: 's' },
        ],
      },
    },
  ],
  [
    'a choice in an interactive message',
    {
      interactiveResponseMessage: {
        body: { text: 'Yes' },
        nativeFlowResponseMessage: { name: 'quick_reply', paramsJson: '{"id":"y"}' },
        contextInfo: { stanzaId: 'T1' },
      },
    },
    { quotedId: 'T1', type: 'template_reply', content: { message_id: 'T1', button_id: 'y', text: 'Yes' } },
  ],
  [
    'a live location',
    { liveLocationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, caption: 'On my way' } },
    { type: 'location', content: { latitude: -23.5, longitude: -46.6, name: 'On my way' } },
  ],
  [
    'a sticker that is drawn',
    { lottieStickerMessage: { message: { stickerMessage: { isAnimated: true } } } },
    { type: 'sticker', content: {} },
  ],
  [
    'a question to a bot, after the key of a group',
    {
      fastRatchetKeySenderKeyDistributionMessage: {},
      botInvokeMessage: { message: { extendedTextMessage: { text: '@Meta AI hello' } } },
    } as never,
    { type: 'text', content: { text: '@Meta AI hello' } },
  ],
  [
    'a poll of newer apps',
    { pollCreationMessageV5: { name: 'Q', options: [{ optionName: 'a' }], selectableOptionsCount: 1 } },
    { type: 'poll', content: { question: 'Q', options: ['a'], max_selections: 1 } },
  ],
  [
    'a tap on a button',
    {
      buttonsResponseMessage: {
        selectedButtonId: 'b1',
        selectedDisplayText: 'One',
        contextInfo: { stanzaId: 'T1' },
      },
    },
    { quotedId: 'T1', type: 'template_reply', content: { message_id: 'T1', button_id: 'b1', text: 'One' } },
  ],
  [
    'an order',
    { orderMessage: { orderId: 'O1', itemCount: 2, thumbnail: mediaKey, message: '' } },
    { type: 'order', content: { order_id: 'O1', detail: { orderId: 'O1', itemCount: 2 } } },
  ],
  [
    'a product',
    {
      productMessage: {
        product: { productId: 'P1', title: 'Shoe', priceAmount1000: { toNumber: () => 5000 } },
      },
    },
    {
      type: 'product',
      content: { product_id: 'P1', detail: { productId: 'P1', title: 'Shoe', priceAmount1000: 5000 } },
    },
  ],
  ['a kind that nobody knows yet', { holographMessage: { x: 1 } } as never, { type: 'unknown', content: {} }],
];

test('an album is received as its pictures, each by itself', () => {
  const album = {
    albumMessage: { expectedImageCount: 2 },
    messageContextInfo: { messageSecret: Buffer.alloc(32) },
  };
  assert.deepEqual(readArrived(arrived(album as never)), { kind: 'none' });
  const picture = { imageMessage: { caption: 'One' } };
  assert.deepEqual(
    readArrived(arrived({ associatedChildMessage: { message: picture } })),
    readArrived(arrived(picture)),
  );
});

for (const [what, message, expected] of TABLE)
  test(`${what} arrives`, () => {
    assert.deepEqual(readArrived(arrived(message)), {
      kind: 'message',
      message: { ...ENVELOPE, ...expected },
    });
  });

test('an edit and a deletion are changes of the message that they name', () => {
  const { id: changeId } = arrived({});
  const about = { networkId: 'B1', changeId, chat: CHAT, from: CHAT, at: AT };
  const key = { id: 'B1', remoteJid: CHAT };
  const edit = (editedMessage: WireMessage) => ({ protocolMessage: { key, type: 14, editedMessage } });
  assert.deepEqual(readArrived(arrived(edit({ conversation: 'better' }))), {
    kind: 'change',
    change: { ...about, kind: 'edited', content: { text: 'better' } },
  });
  assert.deepEqual(
    readArrived(arrived({ editedMessage: { message: edit({ imageMessage: { caption: 'c' } }) } })),
    {
      kind: 'change',
      change: { ...about, kind: 'edited', content: { caption: 'c' } },
    },
  );
  assert.deepEqual(readArrived(arrived({ protocolMessage: { key, type: 0 } })), {
    kind: 'change',
    change: { ...about, kind: 'deleted' },
  });
});

test('protocol messages between devices are not received as messages', () => {
  const table: WireMessage[] = [
    {},
    { messageContextInfo: { messageSecret: mediaKey } },
    { senderKeyDistributionMessage: {} },
    { protocolMessage: { type: 5 } },
    { pinInChatMessage: { key: { id: 'B1' }, type: 1 } },
    { pollUpdateMessage: { pollCreationMessageKey: { id: 'P1' } } },
    { keepInChatMessage: { key: { id: 'B1' } } } as never,
    { encEventResponseMessage: { encPayload: mediaKey } } as never,
    { messageHistoryBundle: {} } as never,
    { secretEncryptedMessage: { targetMessageKey: { id: 'B1' }, secretEncType: 1, encPayload: mediaKey } },
  ];
  for (const message of table) assert.deepEqual(readArrived(arrived(message)), { kind: 'none' });
});

test('a vote can be read with the secret of the poll, and without it by nobody', () => {
  const of = {
    use: 'Poll Vote' as const,
    id: 'P1',
    author: CHAT,
    sender: '5511@s.whatsapp.net',
    secret: new Uint8Array(32).fill(9),
  };
  const sealed = sealWith(of, Buffer.from('vote'));
  assert.equal(openWith(of, sealed)?.toString(), 'vote');
  for (const other of [{ id: 'P2' }, { author: 'x' }, { sender: 'x' }, { secret: new Uint8Array(32) }])
    assert.equal(openWith({ ...of, ...other }, sealed), null, JSON.stringify(other));
  assert.equal(openWith(of, { encPayload: new Uint8Array(3), encIv: sealed.encIv }), null);
  assert.deepEqual(optionsOf(['a', 'b', 'c'], [hashOfOption('c'), hashOfOption('a'), hashOfOption('x')]), [
    'a',
    'c',
  ]);
});

test('addresses lose their device, and the phone is preferred of two names', () => {
  const table: [string, string][] = [
    ['5511900000001:12@s.whatsapp.net', '5511900000001@s.whatsapp.net'],
    ['5511900000001@c.us', '5511900000001@s.whatsapp.net'],
    ['123456789012345:3@lid', '123456789012345@lid'],
    ['120363000000000001@g.us', '120363000000000001@g.us'],
    ['nothing', 'nothing'],
  ];
  for (const [jid, expected] of table) assert.equal(withoutDevice(jid), expected);
  assert.equal(preferPhone('123456@lid', '5511900000001:2@s.whatsapp.net'), '5511900000001@s.whatsapp.net');
  assert.equal(preferPhone('123456@lid', null), '123456@lid');
  assert.equal(isOurChat('status@broadcast'), true);
  assert.equal(isOurChat('123@newsletter'), false);
});
