import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { type OutboundMessage, SendRefused } from '@posthorn/core/network/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { openPaired, outbound, type Recorded } from '../support/whatsapp/driver-harness.ts';
import { type MediaKind, openMedia } from '../support/whatsapp/media-server.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { child, type WireMessage } from '../support/whatsapp/nodes.ts';
import type { PhoneMessage } from '../support/whatsapp/phone.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

/**
 * The content that a phone decrypts of each kind of message, field by field: the shapes that the official apps send.
 * There may be no other field than those named here.
 */

const FILE = randomBytes(3_000);
const THUMBNAIL = Buffer.from('a small picture');
const WAVEFORM = Buffer.alloc(64, 7);
const silentLog = { debug() {}, warn() {}, error() {} };

/** The fields of a file, which {@link shapeOf} has checked. */
const STORED = { file: 'sealed and stored' };
const SECRET = '32 bytes';
const NOW = 'now, in ms';

interface Case {
  name: string;
  message: (friend: PhoneHandle) => OutboundMessage;
  expected: WireMessage | ((friend: PhoneHandle, message: OutboundMessage) => WireMessage);
  /** The type in the stanza, and its other attributes. */
  stanza: Record<string, string>;
}

function withMedia(
  type: string,
  content: Record<string, unknown>,
  about: Partial<OutboundMessage['media']> = {},
) {
  return (friend: PhoneHandle): OutboundMessage => {
    const media = {
      open: async () => Readable.from([FILE]),
      mimeType: 'image/jpeg',
      fileName: 'own-name.jpg',
      sizeBytes: FILE.length,
      ...about,
    };
    return outbound(friend.jid, type, content, { media });
  };
}

const PICTURE = {
  mimeType: 'image/jpeg',
  widthPx: 640,
  heightPx: 480,
  thumbnail: THUMBNAIL.toString('base64'),
};
const FILM = { ...PICTURE, mimeType: 'video/mp4', durationS: 12 };
const VOICE = { mimeType: 'audio/ogg', durationS: 3, waveform: WAVEFORM.toString('base64') };
const SIZE = { width: 640, height: 480 };
const VCARD = (name: string) => `BEGIN:VCARD\nVERSION:3.0\nFN:${name}\nEND:VCARD`;

/** Apps call these `media`; the library writes this attribute, which only tells the network how to count them. */
const NOT_MEDIA = { type: 'text' };

const CASES: readonly Case[] = [
  {
    name: 'a text',
    message: (friend) => outbound(friend.jid, 'text', { text: 'Hello' }),
    expected: { conversation: 'Hello' },
    stanza: { type: 'text' },
  },
  {
    name: 'a text with mentions',
    message: (friend) => outbound(friend.jid, 'text', { text: 'Hello @1', mentions: [friend.jid] }),
    expected: (friend) => ({
      extendedTextMessage: { text: 'Hello @1', contextInfo: { mentionedJid: [friend.jid] } },
    }),
    stanza: { type: 'text' },
  },
  {
    name: 'a text with a link’s preview',
    message: (friend) =>
      outbound(friend.jid, 'text', {
        text: 'See https://example.org/a',
        preview: { url: 'https://example.org/a', title: 'A', description: 'About A' },
      }),
    expected: {
      extendedTextMessage: {
        text: 'See https://example.org/a',
        matchedText: 'https://example.org/a',
        title: 'A',
        description: 'About A',
        previewType: 'NONE',
      },
    },
    stanza: { type: 'text' },
  },
  {
    name: 'an image with a caption',
    message: withMedia('image', { caption: 'Look' }, PICTURE),
    expected: {
      imageMessage: { ...STORED, mimetype: 'image/jpeg', caption: 'Look', ...SIZE, jpegThumbnail: THUMBNAIL },
    },
    stanza: { type: 'media', mediatype: 'image' },
  },
  {
    name: 'an image that is seen once',
    message: withMedia('image', { view_once: true }, PICTURE),
    expected: {
      viewOnceMessageV2: {
        message: {
          imageMessage: {
            ...STORED,
            mimetype: 'image/jpeg',
            ...SIZE,
            jpegThumbnail: THUMBNAIL,
            viewOnce: true,
          },
        },
      },
    },
    stanza: { type: 'media' },
  },
  {
    name: 'an image with a mention in its caption',
    message: (friend) => withMedia('image', { caption: 'Look @1', mentions: [friend.jid] }, PICTURE)(friend),
    expected: (friend) => ({
      imageMessage: {
        ...STORED,
        mimetype: 'image/jpeg',
        caption: 'Look @1',
        ...SIZE,
        jpegThumbnail: THUMBNAIL,
        contextInfo: { mentionedJid: [friend.jid] },
      },
    }),
    stanza: { type: 'media', mediatype: 'image' },
  },
  {
    name: 'a video that is seen once',
    message: withMedia('video', { view_once: true }, FILM),
    expected: {
      viewOnceMessageV2: {
        message: {
          videoMessage: {
            ...STORED,
            mimetype: 'video/mp4',
            ...SIZE,
            seconds: 12,
            jpegThumbnail: THUMBNAIL,
            viewOnce: true,
          },
        },
      },
    },
    stanza: { type: 'media' },
  },
  {
    name: 'a voice note that is heard once',
    message: withMedia('audio', { ptt: true, view_once: true }, VOICE),
    expected: {
      viewOnceMessageV2Extension: {
        message: {
          audioMessage: {
            ...STORED,
            mimetype: 'audio/ogg; codecs=opus',
            seconds: 3,
            ptt: true,
            waveform: WAVEFORM,
            viewOnce: true,
          },
        },
      },
    },
    stanza: { type: 'media' },
  },
  {
    name: 'a document with a caption',
    message: withMedia('document', { file_name: 'a.pdf', caption: 'Read' }, { mimeType: 'application/pdf' }),
    expected: {
      documentWithCaptionMessage: {
        message: {
          documentMessage: {
            ...STORED,
            mimetype: 'application/pdf',
            fileName: 'a.pdf',
            title: 'a.pdf',
            caption: 'Read',
          },
        },
      },
    },
    stanza: { type: 'media' },
  },
  {
    name: 'a reaction that is taken back',
    message: (friend) =>
      outbound(friend.jid, 'reaction', { emoji: '' }, { target: { id: '3EB0F00D', from_me: true } }),
    expected: (friend) => ({
      reactionMessage: {
        key: { remoteJid: friend.jid, fromMe: true, id: '3EB0F00D' },
        text: '',
        senderTimestampMs: NOW,
      },
    }),
    stanza: { type: 'reaction' },
  },
  {
    name: 'a video',
    message: withMedia('video', { caption: 'Watch' }, FILM),
    expected: {
      videoMessage: {
        ...STORED,
        mimetype: 'video/mp4',
        caption: 'Watch',
        ...SIZE,
        seconds: 12,
        jpegThumbnail: THUMBNAIL,
      },
    },
    stanza: { type: 'media', mediatype: 'video' },
  },
  {
    name: 'a looping animation',
    message: withMedia('gif', {}, FILM),
    expected: {
      videoMessage: {
        ...STORED,
        mimetype: 'video/mp4',
        ...SIZE,
        seconds: 12,
        jpegThumbnail: THUMBNAIL,
        gifPlayback: true,
      },
    },
    stanza: { type: 'media', mediatype: 'gif' },
  },
  {
    name: 'a round video',
    message: withMedia('ptv', {}, FILM),
    expected: {
      ptvMessage: { ...STORED, mimetype: 'video/mp4', ...SIZE, seconds: 12, jpegThumbnail: THUMBNAIL },
    },
    stanza: NOT_MEDIA,
  },
  {
    name: 'a voice note with its waveform',
    message: withMedia('audio', { ptt: true }, VOICE),
    expected: {
      audioMessage: {
        ...STORED,
        mimetype: 'audio/ogg; codecs=opus',
        seconds: 3,
        ptt: true,
        waveform: WAVEFORM,
      },
    },
    stanza: { type: 'media', mediatype: 'ptt' },
  },
  {
    name: 'a piece of music',
    message: withMedia('audio', { ptt: false }, { mimeType: 'audio/mpeg', durationS: 3 }),
    expected: { audioMessage: { ...STORED, mimetype: 'audio/mpeg', seconds: 3, ptt: false } },
    stanza: { type: 'media', mediatype: 'audio' },
  },
  {
    name: 'a document',
    message: withMedia('document', { file_name: 'a.pdf' }, { mimeType: 'application/pdf' }),
    expected: {
      documentMessage: { ...STORED, mimetype: 'application/pdf', fileName: 'a.pdf', title: 'a.pdf' },
    },
    stanza: { type: 'media', mediatype: 'document' },
  },
  {
    name: 'an animated sticker',
    message: withMedia(
      'sticker',
      {},
      { mimeType: 'image/webp', widthPx: 512, heightPx: 512, animated: true },
    ),
    expected: {
      stickerMessage: { ...STORED, mimetype: 'image/webp', width: 512, height: 512, isAnimated: true },
    },
    stanza: { type: 'media', mediatype: 'sticker' },
  },
  {
    name: 'a place',
    message: (friend) =>
      outbound(friend.jid, 'location', {
        latitude: 48.2,
        longitude: 16.37,
        name: 'Vienna',
        address: 'Ring 1',
      }),
    expected: {
      locationMessage: { degreesLatitude: 48.2, degreesLongitude: 16.37, name: 'Vienna', address: 'Ring 1' },
    },
    stanza: NOT_MEDIA,
  },
  {
    name: 'a contact',
    message: (friend) =>
      outbound(friend.jid, 'contact', { contacts: [{ name: 'Ann', vcard: VCARD('Ann') }] }),
    expected: { contactMessage: { displayName: 'Ann', vcard: VCARD('Ann') } },
    stanza: { type: 'media', mediatype: 'vcard' },
  },
  {
    name: 'several contacts',
    message: (friend) =>
      outbound(friend.jid, 'contact', {
        contacts: ['Ann', 'Bob'].map((name) => ({ name, vcard: VCARD(name) })),
      }),
    expected: {
      contactsArrayMessage: {
        displayName: '2 contacts',
        contacts: ['Ann', 'Bob'].map((displayName) => ({ displayName, vcard: VCARD(displayName) })),
      },
    },
    stanza: { type: 'media', mediatype: 'contact_array' },
  },
  {
    name: 'a reaction',
    message: (friend) =>
      outbound(friend.jid, 'reaction', { emoji: '👍' }, { target: { id: '3EB0F00D', from_me: false } }),
    expected: (friend) => ({
      reactionMessage: {
        key: { remoteJid: friend.jid, fromMe: false, id: '3EB0F00D' },
        text: '👍',
        senderTimestampMs: NOW,
      },
    }),
    stanza: { type: 'reaction' },
  },
  {
    name: 'a poll with one answer',
    message: (friend) =>
      outbound(friend.jid, 'poll', { question: 'Tea?', options: ['Yes', 'No'], max_selections: 1 }),
    expected: {
      pollCreationMessageV3: {
        name: 'Tea?',
        options: [{ optionName: 'Yes' }, { optionName: 'No' }],
        selectableOptionsCount: 1,
      },
      messageContextInfo: { messageSecret: SECRET },
    },
    stanza: { type: 'poll' },
  },
  {
    name: 'a poll with several answers',
    message: (friend) =>
      outbound(friend.jid, 'poll', { question: 'Which?', options: ['A', 'B', 'C'], max_selections: 2 }),
    expected: {
      pollCreationMessage: {
        name: 'Which?',
        options: [{ optionName: 'A' }, { optionName: 'B' }, { optionName: 'C' }],
        selectableOptionsCount: 2,
      },
      messageContextInfo: { messageSecret: SECRET },
    },
    stanza: { type: 'poll' },
  },
  {
    name: 'an event',
    message: (friend) =>
      outbound(friend.jid, 'event', {
        name: 'Dinner',
        description: 'At mine',
        start_at: '2030-01-01T18:00:00Z',
        end_at: '2030-01-01T20:00:00Z',
        location: 'Home',
        link: 'https://example.org/call',
      }),
    expected: {
      eventMessage: {
        isCanceled: false,
        name: 'Dinner',
        description: 'At mine',
        location: { name: 'Home' },
        joinLink: 'https://example.org/call',
        startTime: 1_893_520_800,
        endTime: 1_893_528_000,
      },
      messageContextInfo: { messageSecret: SECRET },
    },
    stanza: { type: 'event' },
  },
  {
    name: 'an edit',
    message: (friend) =>
      outbound(friend.jid, 'edit', { text: 'Better' }, { target: { id: '3EB0F00D', from_me: true } }),
    expected: (friend) => ({
      protocolMessage: {
        key: { remoteJid: friend.jid, fromMe: true, id: '3EB0F00D' },
        type: 'MESSAGE_EDIT',
        editedMessage: { conversation: 'Better' },
        timestampMs: NOW,
      },
    }),
    stanza: { type: 'text', edit: '1' },
  },
  {
    name: 'a deletion',
    message: (friend) => outbound(friend.jid, 'delete', {}, { target: { id: '3EB0F00D', from_me: true } }),
    expected: (friend) => ({
      protocolMessage: { key: { remoteJid: friend.jid, fromMe: true, id: '3EB0F00D' }, type: 'REVOKE' },
    }),
    stanza: { type: 'text', edit: '7' },
  },
];

describe('on the wire to a phone,', () => {
  let network: WhatsAppNetwork;
  let me: PhoneHandle;
  let friend: PhoneHandle;
  let instance: Recorded;
  before(async () => {
    network = await startWhatsAppNetwork();
    trustRoot(await loadLibrary(), network.trustedRoot);
    me = network.phone('999700000001');
    friend = network.phone('999700000002');
    const driver = createWhatsAppDriver({ url: network.url, ca: network.ca, log: silentLog });
    instance = await openPaired(driver, me);
  });
  after(async () => {
    await instance?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  async function sent(message: OutboundMessage): Promise<PhoneMessage> {
    await instance.session.send(message);
    return friend.message(message.networkId);
  }

  for (const { name, message, expected, stanza } of CASES) {
    it(`${name} has the shape that the apps send`, async () => {
      const given = message(friend);
      const received = await sent(given);
      const wanted = typeof expected === 'function' ? expected(friend, given) : expected;
      assert.deepEqual(shapeOf(network, received.wire), wanted);
      const { mediatype, ...attrs } = stanza;
      for (const [attr, value] of Object.entries(attrs))
        assert.equal(received.stanza.attrs[attr], value, attr);
      if (mediatype) {
        assert.equal(child(received.stanza, 'enc')?.attrs.mediatype, mediatype);
      }
    });
  }

  it('an answer quotes what it answers, and says who wrote it', async () => {
    const id = friend.text(me, 'What time?');
    await until(() => instance.inbound.some(({ networkId }) => networkId === id), 'the question');
    const answer = await sent(outbound(friend.jid, 'text', { text: 'At six' }, { quotedId: id }));
    assert.deepEqual(answer.wire, {
      extendedTextMessage: {
        text: 'At six',
        contextInfo: { stanzaId: id, participant: friend.jid, quotedMessage: { conversation: 'What time?' } },
      },
    });
  });

  it('an answer in a chat whose messages disappear does so as well, and the answer to it', async () => {
    const id = friend.send(me, {
      extendedTextMessage: { text: 'Soon gone', contextInfo: { expiration: 86_400 } },
    });
    await until(() => instance.inbound.some(({ networkId }) => networkId === id), 'the message');
    const first = await sent(outbound(friend.jid, 'text', { text: 'Me too' }, { quotedId: id }));
    const second = await sent(outbound(friend.jid, 'text', { text: 'Again' }, { quotedId: first.id }));
    for (const [answer, quoted] of [
      [first, 'Soon gone'],
      [second, 'Me too'],
    ] as const) {
      const { contextInfo } = answer.wire.extendedTextMessage as { contextInfo: Record<string, unknown> };
      assert.equal(contextInfo.expiration, 86_400);
      assert.deepEqual(contextInfo.quotedMessage, { extendedTextMessage: { text: quoted } });
    }
  });

  it('a received message is forwarded with a mark, whose score grows', async () => {
    const first = friend.text(me, 'Pass it on');
    const again = friend.send(me, {
      extendedTextMessage: { text: 'Pass it on', contextInfo: { forwardingScore: 1, isForwarded: true } },
    });
    for (const [id, forwardingScore] of [
      [first, 1],
      [again, 2],
    ] as const) {
      await until(() => instance.inbound.some(({ networkId }) => networkId === id), 'the text');
      const source = { id, chat: friend.jid as OutboundMessage['to'], from_me: false };
      const forwarded = await sent(outbound(friend.jid, 'text', { text: 'Pass it on' }, { source }));
      assert.deepEqual(forwarded.wire, {
        extendedTextMessage: { text: 'Pass it on', contextInfo: { forwardingScore, isForwarded: true } },
      });
    }
  });

  it('a message that this side sent is forwarded without a mark', async () => {
    const own = outbound(friend.jid, 'text', { text: 'Mine' });
    await sent(own);
    const source = { id: own.networkId, chat: friend.jid as OutboundMessage['to'], from_me: true };
    const forwarded = await sent(outbound(friend.jid, 'text', { text: 'Mine' }, { source }));
    assert.deepEqual(forwarded.wire, { conversation: 'Mine' });
  });

  it('an admin’s deletion in a group names who wrote it, and says that it is an admin’s', async () => {
    const group = network.group(me, 'Friends', [friend], 'pn');
    const target = { id: '3EB0F00E', from_me: false, sender: friend.jid as OutboundMessage['to'] };
    const removal = await sent(outbound(group.jid, 'delete', {}, { target }));
    assert.deepEqual(removal.wire, {
      protocolMessage: {
        key: { remoteJid: group.jid, fromMe: false, id: '3EB0F00E', participant: friend.jid },
        type: 'REVOKE',
      },
    });
    assert.deepEqual([removal.stanza.attrs.edit, removal.sealed.at(-1)], ['8', 'skmsg']);
  });

  it('a caption is edited with its media', async () => {
    const image = withMedia('image', { caption: 'Before' }, PICTURE)(friend);
    await sent(image);
    const target = { id: image.networkId, from_me: true };
    const edited = await sent(outbound(friend.jid, 'edit', { caption: 'After' }, { target }));
    const protocol = edited.wire.protocolMessage as { editedMessage: WireMessage };
    assert.deepEqual(shapeOf(network, protocol.editedMessage), {
      imageMessage: {
        ...STORED,
        mimetype: 'image/jpeg',
        caption: 'After',
        ...SIZE,
        jpegThumbnail: THUMBNAIL,
      },
    });
  });

  it('a pin is for all, for as long as it was asked', async () => {
    await sent(outbound(friend.jid, 'text', { text: 'Pin me' }, { networkId: '3EB0F1A1' }));
    await instance.session.act('pin', {
      chat: friend.jid as OutboundMessage['to'],
      target: { id: '3EB0F1A1', from_me: true },
      pin: true,
      duration_s: 604_800,
    });
    const pin = await until(() => friend.messages.find(({ wire }) => wire.pinInChatMessage), 'the pin');
    assert.deepEqual(shapeOf(network, pin.wire), {
      pinInChatMessage: {
        key: { remoteJid: friend.jid, fromMe: true, id: '3EB0F1A1' },
        type: 'PIN_FOR_ALL',
        senderTimestampMs: NOW,
      },
      messageContextInfo: { messageAddOnDurationInSecs: 604_800 },
    });
    assert.equal(pin.stanza.attrs.edit, '2');
  });

  it('a status goes to those who are saved on the phone, in the colours that were chosen', async () => {
    const stranger = network.phone('999700000003');
    const nobody = outbound('status@broadcast', 'status_text', { text: 'Nobody sees this' });
    const refusal = (err: unknown) => err instanceof SendRefused && err.reason === 'status_audience_empty';
    await assert.rejects(instance.session.send(nobody), refusal);
    const contactAction = { fullName: 'Friend', saveOnPrimaryAddressbook: true };
    me.publish('critical_unblock_low', ['contact', friend.jid], { contactAction });
    const isKnown = () => instance.facts.some((fact) => fact.kind === 'contact' && fact.jid === friend.jid);
    await until(isKnown, 'the contact is known');
    const content = { text: 'My day', background_color: '#336699', font: 2 };
    const status = await sent(outbound('status@broadcast', 'status_text', content));
    assert.deepEqual(status.wire, {
      extendedTextMessage: {
        text: 'My day',
        backgroundArgb: 0xff336699,
        textArgb: 0xffffffff,
        font: 'FB_SCRIPT',
      },
    });
    assert.deepEqual([status.chat, status.sealed.at(-1)], ['status@broadcast', 'skmsg']);
    assert.deepEqual(stranger.messages, []);
  });
});

const STORED_FIELDS = [
  'url',
  'directPath',
  'mediaKey',
  'mediaKeyTimestamp',
  'fileSha256',
  'fileEncSha256',
  'fileLength',
];
const MEDIA: Readonly<Record<string, MediaKind>> = {
  imageMessage: 'image',
  videoMessage: 'video',
  ptvMessage: 'video',
  audioMessage: 'audio',
  documentMessage: 'document',
  stickerMessage: 'sticker',
};

/** A message in which the values that differ each time are checked and replaced. */
function shapeOf(network: WhatsAppNetwork, wire: WireMessage): WireMessage {
  const entries = Object.entries(wire).map(([name, value]): [string, unknown] => {
    const kind = MEDIA[name];
    if (kind) return [name, mediaShape(network, kind, value as WireMessage)];
    if (name === 'messageSecret') return [name, (value as Buffer).length === 32 ? SECRET : value];
    if (name === 'senderTimestampMs' || name === 'timestampMs') {
      return [name, Math.abs(Number(value) - Date.now()) < 60_000 ? NOW : value];
    }
    const isObject =
      typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
    return [name, isObject ? shapeOf(network, value as WireMessage) : value];
  });
  return Object.fromEntries(entries);
}

function mediaShape(network: WhatsAppNetwork, kind: MediaKind, media: WireMessage): WireMessage {
  assert.ok(openMedia(network.media, kind, media).equals(FILE));
  assert.equal((media.mediaKey as Buffer).length, 32);
  assert.ok(String(media.url).startsWith(`https://${network.mediaHost}`));
  assert.ok(Math.abs(Number(media.mediaKeyTimestamp) * 1_000 - Date.now()) < 60_000);
  const rest = Object.entries(media).filter(([name]) => !STORED_FIELDS.includes(name));
  return { ...STORED, ...Object.fromEntries(rest) };
}
