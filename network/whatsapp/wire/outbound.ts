/** Converts a message of the port to the format that the official apps send. No I/O, no clock. */
import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { Operation } from '@posthorn/contract/message-types.ts';
import type { Composers } from '@posthorn/core/network/abilities.ts';
import type { NetworkActions } from '@posthorn/core/network/actions.ts';
import { type MessageTarget, type OutboundMessage, SendRefused } from '@posthorn/core/network/driver.ts';
import { operationOf } from '@posthorn/core/network/messages.ts';
import type { Names } from '../addressing.ts';
import {
  bareContent,
  contextOf,
  forwardedCopy,
  isWritten,
  kindOf,
  withContext,
  withWords,
} from './content.ts';
import { given } from './given.ts';
import { mediaContent, type UploadedMedia } from './outbound-media.ts';
import { PROTOCOL, type WireContext, type WireKey, type WireMessage } from './wire-types.ts';

/** A message sent or received before, in wire format. */
export interface KnownMessage {
  id: string;
  chat: string;
  /** The author's broadcast list by which it came. */
  list?: string | undefined;
  /** By which names the network named people in it; absent if that is not known. */
  names?: Names | undefined;
  /** The author, by the name used in the chat. */
  from: string;
  fromMe: boolean;
  message: WireMessage;
}

/** The other data a message is composed of, looked up by the caller. */
export interface Ingredients {
  now: Date;
  /** 32 random bytes with which others encrypt their answers: for polls and events. */
  secret: Uint8Array;
  media?: UploadedMedia | undefined;
  /** Seconds after which messages of the chat disappear; 0: they stay. */
  timer: number;
  quoted?: KnownMessage | null | undefined;
  /** The message of a reaction, edit or delete, if it is known. */
  target?: KnownMessage | null | undefined;
  /** The message being forwarded. */
  source?: KnownMessage | null | undefined;
  /** The status being answered. */
  status?: KnownMessage | null | undefined;
}

/** The message and the attributes of its stanza. */
export interface Composed {
  message: WireMessage;
  /** Attributes of the `message` element; `edit` tells servers and old apps the kind of change. */
  attributes?: Record<string, string>;
  /** The attributes of its `meta` element. */
  meta?: Record<string, string>;
}

type Content = Record<string, unknown>;
type Compose = (message: OutboundMessage, from: Ingredients) => Composed;

const EDIT = '1';
const DELETE_OWN = '7';
const DELETE_AS_ADMIN = '8';

/** Throws SendRefused for a message that this network cannot express. */
export function compose(message: OutboundMessage, from: Ingredients): Composed {
  const operation = operationOf(message);
  const composed = entryOf(COMPOSERS, operation)(message, from);
  // A forward says nothing of its own.
  const said = operation === 'forward' ? {} : { ...mentionsOf(message.content), ...answerOf(message, from) };
  const context = from.timer > 0 && isWritten(composed.message) ? { ...said, expiration: from.timer } : said;
  return Object.keys(context).length === 0
    ? composed
    : { ...composed, message: withContext(composed.message, context) };
}

function entryOf(table: Readonly<Partial<Record<string, Compose>>>, name: string): Compose {
  const composer = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!composer) throw new SendRefused('unsupported_message');
  return composer;
}

/** The operations without a message on this network, whose asking answers 501 (docs/guides/whatsapp.md). */
export const LACKS = [
  // The network shows buttons of approved business senders only.
  'template',
  'approved_template',
  'list',
  'link_button',
  'template_list',
  'template_create',
  'template_delete',
] as const satisfies readonly (Operation | keyof NetworkActions)[];

/** The messages that have content of their own, by their type. */
const CONTENTS = {
  text: ({ content }) => ({ message: textOf(content) }),
  status_text: ({ content }) => ({ message: statusTextOf(content) }),
  image: media('image'),
  video: media('video'),
  audio: media('audio'),
  document: media('document'),
  sticker: media('sticker'),
  ptv: media('ptv'),
  gif: media('gif'),
  status_image: media('image'),
  status_video: media('video'),
  status_audio: media('audio'),
  location: ({ content }) => ({ message: locationOf(content) }),
  contact: ({ content }) => ({ message: contactsOf(content) }),
  reaction,
  poll: ({ content }, { secret }) => ({
    message: pollOf(content, secret),
    meta: { polltype: 'creation' },
  }),
  event: ({ content }, { secret }) => ({
    message: eventOf(content, secret),
    meta: { event_type: 'creation' },
  }),
  edit,
  delete: remove,
} satisfies Readonly<Record<string, Compose>>;

/** Every operation that this network carries. */
export const COMPOSERS: Composers<Compose, (typeof LACKS)[number]> = {
  ...CONTENTS,
  link_preview: CONTENTS.text,
  forward: (_message, from) => ({ message: forward(from) }),
  status_reply: (message, from) => entryOf(CONTENTS, message.type)(message, from),
};

function media(kind: string): Compose {
  return ({ content }, { media }) => {
    if (!media) throw new SendRefused('media_not_found');
    return { message: mediaContent(kind, content, media) };
  };
}

function textOf(content: Content): WireMessage {
  const text = String(content.text);
  const preview = content.preview as Record<string, string> | undefined;
  if (!preview) return { conversation: text };
  const { url, title, description } = preview;
  return {
    extendedTextMessage: { text, matchedText: url, ...given({ title, description }), previewType: 0 },
  };
}

const WHITE = 0xffffffff;

function statusTextOf({ text, background_color: color, font }: Content): WireMessage {
  return {
    extendedTextMessage: {
      text: String(text),
      ...(typeof color === 'string' ? { backgroundArgb: argbOf(color), textArgb: WHITE } : {}),
      ...(typeof font === 'number' ? { font } : {}),
    },
  };
}

/** Converts `#RRGGBB` to the network's format, alpha first. */
function argbOf(color: string): number {
  return (0xff000000 + Number.parseInt(color.replace('#', ''), 16)) >>> 0;
}

function locationOf({ latitude, longitude, name, address }: Content): WireMessage {
  const place = given({ name: name as string | undefined, address: address as string | undefined });
  return {
    locationMessage: { degreesLatitude: Number(latitude), degreesLongitude: Number(longitude), ...place },
  };
}

function contactsOf(content: Content): WireMessage {
  const cards = (content.contacts as { name: string; vcard: string }[]).map(({ name, vcard }) => ({
    displayName: name,
    vcard,
  }));
  const [only] = cards;
  if (only && cards.length === 1) return { contactMessage: only };
  return { contactsArrayMessage: { displayName: `${cards.length} contacts`, contacts: cards } };
}

function pollOf(content: Content, secret: Uint8Array): WireMessage {
  const selectable = Number(content.max_selections);
  const poll = {
    name: String(content.question),
    options: (content.options as string[]).map((optionName) => ({ optionName })),
    selectableOptionsCount: selectable,
  };
  const messageContextInfo = { messageSecret: secret };
  // Current apps send single-answer polls in a separate field.
  return selectable === 1
    ? { pollCreationMessageV3: poll, messageContextInfo }
    : { pollCreationMessage: poll, messageContextInfo };
}

function eventOf(content: Content, secret: Uint8Array): WireMessage {
  const { name, description, start_at, end_at, location, link } = content as Record<
    string,
    string | undefined
  >;
  return {
    eventMessage: {
      isCanceled: false,
      name: name ?? '',
      startTime: secondsOf(start_at)!,
      ...given({ description, endTime: secondsOf(end_at), joinLink: link }),
      ...(location === undefined ? {} : { location: { name: location } }),
    },
    messageContextInfo: { messageSecret: secret },
  };
}

function secondsOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Math.floor(Date.parse(time) / 1000);
}

function reaction(message: OutboundMessage, from: Ingredients): Composed {
  const key = keyOf(message.to, targetOf(message), from.target);
  const text = String(message.content.emoji ?? '');
  return { message: { reactionMessage: { key, text, senderTimestampMs: from.now.getTime() } } };
}

function edit(message: OutboundMessage, from: Ingredients): Composed {
  const key = keyOf(message.to, targetOf(message), from.target);
  const editedMessage = editedOf(message.content, from.target);
  const timestampMs = from.now.getTime();
  return {
    message: { protocolMessage: { key, type: PROTOCOL.edit, editedMessage, timestampMs } },
    attributes: { edit: EDIT },
  };
}

/** A caption is part of its media message, which is sent again as a whole. */
function editedOf({ text, caption }: Content, target: KnownMessage | null | undefined): WireMessage {
  if (typeof text === 'string') return { conversation: text };
  const original = target && bareContent(target.message);
  const edited = original && withWords(original, { caption: String(caption ?? '') });
  if (!edited || edited === original) throw new SendRefused('message_not_found');
  return edited;
}

function remove(message: OutboundMessage, from: Ingredients): Composed {
  const key = keyOf(message.to, targetOf(message), from.target);
  const asAdmin = !key.fromMe && isGroupJid(message.to);
  return {
    message: { protocolMessage: { key, type: PROTOCOL.revoke } },
    attributes: { edit: asAdmin ? DELETE_AS_ADMIN : DELETE_OWN },
  };
}

function forward({ source }: Ingredients): WireMessage {
  if (!source || !kindOf(bareContent(source.message))) throw new SendRefused('forward_source_not_found');
  return forwardedCopy(source);
}

/** The network's key of the message that another one refers to. */
export function keyOf(chat: string, target: MessageTarget, known?: KnownMessage | null): WireKey {
  const fromMe = target.from_me ?? known?.fromMe ?? false;
  const author = known?.from ?? target.sender;
  // In a one-to-one chat the author is clear: if not us, the other side.
  const participant = (isGroupJid(chat) || chat === STATUS_BROADCAST) && !fromMe ? author : undefined;
  return { remoteJid: chat, fromMe, id: target.id, ...given({ participant }) };
}

function targetOf(message: OutboundMessage): MessageTarget {
  if (!message.target) throw new SendRefused('message_not_found');
  return message.target;
}

function mentionsOf({ mentions }: Content): WireContext {
  return Array.isArray(mentions) && mentions.length > 0 ? { mentionedJid: mentions as string[] } : {};
}

/** The content shown in a quote; empty if the message is not stored or was deleted. */
function shownOf(known: KnownMessage | null | undefined): WireMessage {
  const content = known ? bareContent(known.message) : {};
  return kindOf(content) ? content : { conversation: '' };
}

/** The context of an answer to a message of this chat, or to a status. */
function answerOf(message: OutboundMessage, { quoted, status }: Ingredients): WireContext {
  if (message.status) {
    const answered = shownOf(status);
    return {
      ...contextOf({ id: message.status.id, from: message.status.author, message: answered }),
      remoteJid: STATUS_BROADCAST,
    };
  }
  if (!message.quotedId) return {};
  // A message that is not stored is still named; the recipient's app shows its own copy.
  const from = quoted?.from ?? message.to;
  const answered = shownOf(quoted);
  return contextOf({ id: message.quotedId, from, message: answered });
}
