/** The form of each message of the port on the wire: a table, without a network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OutboundMessage, SendRefused } from '@posthorn/core/network/driver.ts';
import { compose, type Ingredients, type KnownMessage } from '@posthorn/network/whatsapp/wire/outbound.ts';
import type { UploadedMedia } from '@posthorn/network/whatsapp/wire/outbound-media.ts';

const ME = '5511900000000@s.whatsapp.net';
const CHAT = '5511911111111@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';
const NOW = new Date('2026-03-01T12:00:00Z');
const SECRET = new Uint8Array(32).fill(7);

const file = {
  url: 'https://mmg.whatsapp.net/v/t1',
  directPath: '/v/t1',
  mediaKey: new Uint8Array(32).fill(1),
  mediaKeyTimestamp: 1_772_366_400,
  fileSha256: new Uint8Array(32).fill(2),
  fileEncSha256: new Uint8Array(32).fill(3),
  fileLength: 1234,
};
function uploaded(about: Partial<UploadedMedia['about']> = {}): UploadedMedia {
  return { ...file, about: { mimeType: 'image/jpeg', fileName: 'a.jpg', ...about } };
}
const stored = (mimetype: string) => ({ ...file, mimetype });

function known(fields: Partial<KnownMessage>): KnownMessage {
  return { id: 'A1', chat: CHAT, from: CHAT, fromMe: false, message: { conversation: 'before' }, ...fields };
}

function composed(message: Partial<OutboundMessage>, from: Partial<Ingredients> = {}) {
  const whole: OutboundMessage = {
    networkId: 'F'.repeat(32),
    to: CHAT,
    type: 'text',
    content: {},
    ...message,
  };
  return compose(whole, { now: NOW, secret: SECRET, timer: 0, ...from });
}

const image = uploaded({ widthPx: 640, heightPx: 480, thumbnail: Buffer.from('thumb').toString('base64') });
const size = { width: 640, height: 480 };
const jpegThumbnail = Buffer.from('thumb');

const TABLE: [
  what: string,
  message: Partial<OutboundMessage>,
  from: Partial<Ingredients>,
  expected: object,
][] = [
  ['a text', { content: { text: 'hi' } }, {}, { message: { conversation: 'hi' } }],
  [
    'a text with mentions',
    { content: { text: 'hi @5511922222222', mentions: ['5511922222222@s.whatsapp.net'] } },
    {},
    {
      message: {
        extendedTextMessage: {
          text: 'hi @5511922222222',
          contextInfo: { mentionedJid: ['5511922222222@s.whatsapp.net'] },
        },
      },
    },
  ],
  [
    'an answer',
    { content: { text: 'yes' }, quotedId: 'A1' },
    { quoted: known({}) },
    {
      message: {
        extendedTextMessage: {
          text: 'yes',
          contextInfo: { stanzaId: 'A1', participant: CHAT, quotedMessage: { conversation: 'before' } },
        },
      },
    },
  ],
  [
    'an answer to what nobody kept',
    { content: { text: 'yes' }, quotedId: 'A1' },
    { quoted: null },
    {
      message: {
        extendedTextMessage: {
          text: 'yes',
          contextInfo: { stanzaId: 'A1', participant: CHAT, quotedMessage: { conversation: '' } },
        },
      },
    },
  ],
  [
    'an answer to a view-once picture of our own, whose own context is not quoted',
    { content: { text: 'seen?' }, quotedId: 'A1' },
    {
      quoted: known({
        fromMe: true,
        from: ME,
        message: {
          viewOnceMessageV2: { message: { imageMessage: { caption: 'c', contextInfo: { stanzaId: 'A0' } } } },
        },
      }),
    },
    {
      message: {
        extendedTextMessage: {
          text: 'seen?',
          contextInfo: { stanzaId: 'A1', participant: ME, quotedMessage: { imageMessage: { caption: 'c' } } },
        },
      },
    },
  ],
  [
    'a link with its preview',
    { content: { text: 'see https://a.example', preview: { url: 'https://a.example', title: 'A' } } },
    {},
    {
      message: {
        extendedTextMessage: {
          text: 'see https://a.example',
          matchedText: 'https://a.example',
          title: 'A',
          previewType: 0,
        },
      },
    },
  ],
  [
    'a picture with a caption',
    { type: 'image', content: { caption: 'sea' } },
    { media: image },
    { message: { imageMessage: { ...stored('image/jpeg'), caption: 'sea', ...size, jpegThumbnail } } },
  ],
  [
    'a picture that is seen once',
    { type: 'image', content: { view_once: true } },
    { media: uploaded() },
    {
      message: {
        viewOnceMessageV2: { message: { imageMessage: { ...stored('image/jpeg'), viewOnce: true } } },
      },
    },
  ],
  [
    'a picture that is seen once, as an answer: the context stands within',
    { type: 'image', content: { view_once: true }, quotedId: 'A1' },
    { media: uploaded(), quoted: known({}) },
    {
      message: {
        viewOnceMessageV2: {
          message: {
            imageMessage: {
              ...stored('image/jpeg'),
              viewOnce: true,
              contextInfo: { stanzaId: 'A1', participant: CHAT, quotedMessage: { conversation: 'before' } },
            },
          },
        },
      },
    },
  ],
  [
    'a video',
    { type: 'video', content: { caption: 'v' } },
    { media: uploaded({ mimeType: 'video/mp4', durationS: 3.6 }) },
    { message: { videoMessage: { ...stored('video/mp4'), caption: 'v', seconds: 4 } } },
  ],
  [
    'a GIF, which is a video that plays by itself',
    { type: 'gif', content: {} },
    { media: uploaded({ mimeType: 'video/mp4' }) },
    { message: { videoMessage: { ...stored('video/mp4'), gifPlayback: true } } },
  ],
  [
    'a round video',
    { type: 'ptv', content: {} },
    { media: uploaded({ mimeType: 'video/mp4', durationS: 0.2 }) },
    { message: { ptvMessage: { ...stored('video/mp4'), seconds: 1 } } },
  ],
  [
    'a voice note with its waveform',
    { type: 'audio', content: { ptt: true } },
    {
      media: uploaded({ mimeType: 'audio/ogg', durationS: 2, waveform: Buffer.of(1, 2).toString('base64') }),
    },
    {
      message: {
        audioMessage: {
          ...stored('audio/ogg; codecs=opus'),
          seconds: 2,
          ptt: true,
          waveform: Buffer.of(1, 2),
        },
      },
    },
  ],
  [
    'a voice note that is heard once',
    { type: 'audio', content: { ptt: true, view_once: true } },
    { media: uploaded({ mimeType: 'audio/ogg' }) },
    {
      message: {
        viewOnceMessageV2Extension: {
          message: { audioMessage: { ...stored('audio/ogg; codecs=opus'), ptt: true, viewOnce: true } },
        },
      },
    },
  ],
  [
    'a sound file',
    { type: 'audio', content: { ptt: false } },
    { media: uploaded({ mimeType: 'audio/mpeg', durationS: 9 }) },
    { message: { audioMessage: { ...stored('audio/mpeg'), seconds: 9, ptt: false } } },
  ],
  [
    'a document',
    { type: 'document', content: { file_name: 'bill.pdf' } },
    { media: uploaded({ mimeType: 'application/pdf' }) },
    {
      message: { documentMessage: { ...stored('application/pdf'), fileName: 'bill.pdf', title: 'bill.pdf' } },
    },
  ],
  [
    'a document with a caption',
    { type: 'document', content: { file_name: 'bill.pdf', caption: 'pay' } },
    { media: uploaded({ mimeType: 'application/pdf' }) },
    {
      message: {
        documentWithCaptionMessage: {
          message: {
            documentMessage: {
              ...stored('application/pdf'),
              fileName: 'bill.pdf',
              title: 'bill.pdf',
              caption: 'pay',
            },
          },
        },
      },
    },
  ],
  [
    'a sticker that moves',
    { type: 'sticker', content: {} },
    { media: uploaded({ mimeType: 'image/webp', animated: true }) },
    { message: { stickerMessage: { ...stored('image/webp'), isAnimated: true } } },
  ],
  [
    'a location',
    { type: 'location', content: { latitude: -23.5, longitude: -46.6, name: 'Home' } },
    {},
    { message: { locationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Home' } } },
  ],
  [
    'one contact',
    { type: 'contact', content: { contacts: [{ name: 'Ada', vcard: 'V1' }] } },
    {},
    { message: { contactMessage: { displayName: 'Ada', vcard: 'V1' } } },
  ],
  [
    'contacts in one card',
    {
      type: 'contact',
      content: {
        contacts: [
          { name: 'Ada', vcard: 'V1' },
          { name: 'Bob', vcard: 'V2' },
        ],
      },
    },
    {},
    {
      message: {
        contactsArrayMessage: {
          displayName: '2 contacts',
          contacts: [
            { displayName: 'Ada', vcard: 'V1' },
            { displayName: 'Bob', vcard: 'V2' },
          ],
        },
      },
    },
  ],
  [
    'a poll with one answer',
    { type: 'poll', content: { question: 'When?', options: ['a', 'b'], max_selections: 1 } },
    {},
    {
      message: {
        pollCreationMessageV3: {
          name: 'When?',
          options: [{ optionName: 'a' }, { optionName: 'b' }],
          selectableOptionsCount: 1,
        },
        messageContextInfo: { messageSecret: SECRET },
      },
      meta: { polltype: 'creation' },
    },
  ],
  [
    'a poll with several answers',
    { type: 'poll', content: { question: 'When?', options: ['a', 'b'], max_selections: 2 } },
    {},
    {
      message: {
        pollCreationMessage: {
          name: 'When?',
          options: [{ optionName: 'a' }, { optionName: 'b' }],
          selectableOptionsCount: 2,
        },
        messageContextInfo: { messageSecret: SECRET },
      },
      meta: { polltype: 'creation' },
    },
  ],
  [
    'a calendar event',
    {
      type: 'event',
      content: {
        name: 'Party',
        start_at: '2026-03-02T18:00:00Z',
        end_at: '2026-03-02T20:00:00Z',
        description: 'd',
        location: 'Home',
        link: 'https://call.example',
      },
    },
    {},
    {
      message: {
        eventMessage: {
          isCanceled: false,
          name: 'Party',
          startTime: 1_772_474_400,
          description: 'd',
          endTime: 1_772_481_600,
          joinLink: 'https://call.example',
          location: { name: 'Home' },
        },
        messageContextInfo: { messageSecret: SECRET },
      },
      meta: { event_type: 'creation' },
    },
  ],
  [
    'a reaction in a chat of two',
    { type: 'reaction', content: { message_id: 'x', emoji: '👍' }, target: { id: 'A1', from_me: false } },
    {},
    {
      message: {
        reactionMessage: {
          key: { remoteJid: CHAT, fromMe: false, id: 'A1' },
          text: '👍',
          senderTimestampMs: NOW.getTime(),
        },
      },
    },
  ],
  [
    'a reaction that is taken back in a group, where the author is named',
    {
      to: GROUP,
      type: 'reaction',
      content: { emoji: '' },
      target: { id: 'A1', from_me: false, sender: CHAT },
    },
    {},
    {
      message: {
        reactionMessage: {
          key: { remoteJid: GROUP, fromMe: false, id: 'A1', participant: CHAT },
          text: '',
          senderTimestampMs: NOW.getTime(),
        },
      },
    },
  ],
  [
    'new words of a text',
    { type: 'edit', content: { text: 'better' }, target: { id: 'A1', from_me: true } },
    {},
    {
      message: {
        protocolMessage: {
          key: { remoteJid: CHAT, fromMe: true, id: 'A1' },
          type: 14,
          editedMessage: { conversation: 'better' },
          timestampMs: NOW.getTime(),
        },
      },
      attributes: { edit: '1' },
    },
  ],
  [
    'a new caption, with the media it stands under',
    { type: 'edit', content: { caption: 'better' }, target: { id: 'A1', from_me: true } },
    { target: known({ fromMe: true, from: ME, message: { imageMessage: { ...file, caption: 'old' } } }) },
    {
      message: {
        protocolMessage: {
          key: { remoteJid: CHAT, fromMe: true, id: 'A1' },
          type: 14,
          editedMessage: { imageMessage: { ...file, caption: 'better' } },
          timestampMs: NOW.getTime(),
        },
      },
      attributes: { edit: '1' },
    },
  ],
  [
    'a message of ours deleted for everyone',
    { type: 'delete', target: { id: 'A1', from_me: true } },
    {},
    {
      message: { protocolMessage: { key: { remoteJid: CHAT, fromMe: true, id: 'A1' }, type: 0 } },
      attributes: { edit: '7' },
    },
  ],
  [
    "another's message deleted as an admin",
    { to: GROUP, type: 'delete', target: { id: 'A1', from_me: false, sender: CHAT } },
    {},
    {
      message: {
        protocolMessage: { key: { remoteJid: GROUP, fromMe: false, id: 'A1', participant: CHAT }, type: 0 },
      },
      attributes: { edit: '8' },
    },
  ],
  [
    'a forward of what was received, marked',
    { type: 'text', content: { text: 'before' }, source: { chat: CHAT, id: 'A1' } },
    { source: known({}) },
    {
      message: {
        extendedTextMessage: { text: 'before', contextInfo: { isForwarded: true, forwardingScore: 1 } },
      },
    },
  ],
  [
    'a forward of a forward, whose mentions stay behind',
    { type: 'image', content: {}, source: { chat: CHAT, id: 'A1' } },
    {
      source: known({
        message: {
          imageMessage: {
            ...file,
            contextInfo: { isForwarded: true, forwardingScore: 4, mentionedJid: [CHAT], stanzaId: 'A0' },
          },
        },
      }),
    },
    {
      message: { imageMessage: { ...file, contextInfo: { isForwarded: true, forwardingScore: 5 } } },
    },
  ],
  [
    'a forward of our own message, which is a clean copy',
    { type: 'text', content: { text: 'mine' }, source: { chat: CHAT, id: 'A1' } },
    { source: known({ fromMe: true, from: ME, message: { conversation: 'mine' } }) },
    { message: { conversation: 'mine' } },
  ],
  [
    'a text as a status',
    {
      to: 'status@broadcast',
      type: 'status_text',
      content: { text: 'news', background_color: '#00FF00', font: 6 },
    },
    {},
    {
      message: {
        extendedTextMessage: {
          text: 'news',
          backgroundArgb: 0xff00ff00,
          textArgb: 0xffffffff,
          font: 6,
        },
      },
    },
  ],
  [
    'an answer to a status',
    { content: { text: 'nice', status_reply: {} }, status: { id: 'S1', author: CHAT } },
    {
      status: known({
        id: 'S1',
        chat: 'status@broadcast',
        message: { extendedTextMessage: { text: 'news' } },
      }),
    },
    {
      message: {
        extendedTextMessage: {
          text: 'nice',
          contextInfo: {
            stanzaId: 'S1',
            participant: CHAT,
            quotedMessage: { extendedTextMessage: { text: 'news' } },
            remoteJid: 'status@broadcast',
          },
        },
      },
    },
  ],
];

for (const [what, message, from, expected] of TABLE)
  test(`${what} has the form on the wire that the official apps send`, () => {
    assert.deepEqual(composed(message, from), expected);
  });

test('a message that the network cannot express, or whose source was not kept, is refused with a reason', () => {
  const table: [Partial<OutboundMessage>, Partial<Ingredients>, string][] = [
    [{ type: 'template', content: {} }, {}, 'unsupported_message'],
    [{ type: 'image', content: {} }, {}, 'media_not_found'],
    [{ type: 'reaction', content: { emoji: 'x' } }, {}, 'message_not_found'],
    [{ type: 'edit', content: { caption: 'x' }, target: { id: 'A1' } }, {}, 'message_not_found'],
    [{ source: { chat: CHAT, id: 'A1' } }, { source: null }, 'forward_source_not_found'],
  ];
  for (const [message, from, reason] of table)
    assert.throws(
      () => composed(message, from),
      (err: unknown) => err instanceof SendRefused && err.reason === reason,
      reason,
    );
});
