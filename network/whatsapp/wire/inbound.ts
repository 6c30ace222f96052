/** Converts a network message to the port: every family, and changes of existing messages. No I/O. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { InboundMessage, NetworkChange } from '@posthorn/core/network/driver.ts';
import type { Names } from '../addressing.ts';
import { kindOf, readContext, type Unwrapped, unwrap } from './content.ts';
import { given } from './given.ts';
import { BUSINESS_READERS } from './inbound-business.ts';
import { type Body, mediaRef } from './inbound-media.ts';
import { numberOf } from './numbers.ts';
import type { Sealed, SealedUse } from './secrets.ts';
import {
  PROTOCOL,
  SAME_MEDIA,
  SEALED_EDIT,
  type WireKey,
  type WireMedia,
  type WireMessage,
} from './wire-types.ts';

/** A message with its envelope, with our addresses. */
export interface Arrived {
  id: string;
  chat: string;
  /** The sender's broadcast list by which it came. */
  list?: string | undefined;
  /** Whether it names people by anonymous ids (`ids`) or by numbers: answers to it have to name them so, too. */
  names?: Names;
  from: string;
  fromMe: boolean;
  pushName: string;
  at: Date;
  message: WireMessage;
}

/** The meaning of a message. */
export type Read =
  | { kind: 'message'; message: InboundMessage }
  | { kind: 'change'; change: NetworkChange }
  /** Reading it requires the secret of the message `target`. */
  | { kind: 'sealed'; use: SealedUse; target: WireKey & { id: string }; sealed: Sealed }
  /** Internal data of devices and servers. */
  | { kind: 'none' };

/**
 * Contents that change other messages, or are for the app alone. The sandbox does not report pins either; the parts of
 * an album are reported one by one.
 */
const NOT_TOLD: ReadonlySet<string> = new Set([
  ...['pinInChatMessage', 'keepInChatMessage', 'albumMessage', 'encEventResponseMessage'],
  ...['messageHistoryBundle', 'messageHistoryNotice', 'stickerSyncRmrMessage', 'statusNotificationMessage'],
]);

export function readArrived(arrived: Arrived): Read {
  const unwrapped = unwrap(arrived.message);
  const { message, viewOnce } = unwrapped;
  const { protocolMessage, pollUpdateMessage, secretEncryptedMessage } = message;
  const { encReactionMessage, encCommentMessage } = message;
  if (protocolMessage) return readChange(arrived, protocolMessage);
  if (pollUpdateMessage)
    return sealedOf('Poll Vote', pollUpdateMessage.pollCreationMessageKey, pollUpdateMessage.vote);
  if (encReactionMessage)
    return sealedOf('Enc Reaction', encReactionMessage.targetMessageKey, encReactionMessage);
  if (encCommentMessage)
    return sealedOf('Enc Comment', encCommentMessage.targetMessageKey, encCommentMessage);
  if (secretEncryptedMessage) {
    // Changes of polls and events are not told.
    if (secretEncryptedMessage.secretEncType !== SEALED_EDIT) return { kind: 'none' };
    return sealedOf('Message Edit', secretEncryptedMessage.targetMessageKey, secretEncryptedMessage);
  }
  if (isSameMedia(message)) return { kind: 'none' };
  // A message without content is none, but if it was kept from us.
  const kind = kindOf(message);
  if (kind === null ? !viewOnce : NOT_TOLD.has(kind)) return { kind: 'none' };
  return { kind: 'message', message: { ...envelopeOf(arrived, message), ...bodyOf(unwrapped) } };
}

const SAME_MEDIA_TYPES: ReadonlySet<unknown> = new Set(Object.values(SAME_MEDIA));

/**
 * Whether it is the same picture or video once more, in a higher quality or moving: apps send it behind the message that
 * they show, to which answers and reactions refer.
 */
function isSameMedia({ messageContextInfo }: WireMessage): boolean {
  return SAME_MEDIA_TYPES.has(messageContextInfo?.messageAssociation?.associationType);
}

function sealedOf(
  use: SealedUse,
  target: WireKey | null | undefined,
  sealed: Partial<Record<keyof Sealed, Uint8Array | null>> | null | undefined,
): Read {
  const { encPayload, encIv } = sealed ?? {};
  if (!target?.id || !encPayload || !encIv) return { kind: 'none' };
  return { kind: 'sealed', use, target: { ...target, id: target.id }, sealed: { encPayload, encIv } };
}

/** All fields of a message besides its body. */
export function envelopeOf(
  { id, chat, from, fromMe, pushName, at }: Arrived,
  message: WireMessage,
): Omit<InboundMessage, 'type' | 'content'> {
  const { stanzaId, remoteJid, isForwarded, forwardingScore } = readContext(message);
  const reacted = message.reactionMessage?.key;
  const isAboutStatus = remoteJid === STATUS_BROADCAST || reacted?.remoteJid === STATUS_BROADCAST;
  const statusId = isAboutStatus ? (stanzaId ?? reacted?.id) : undefined;
  return {
    networkId: id,
    chat,
    from,
    pushName,
    ...(fromMe ? { fromMe } : {}),
    at,
    ...given({ statusId: statusId ?? undefined }),
    ...(stanzaId && !statusId ? { quotedId: stanzaId } : {}),
    ...(isForwarded ? { forwardingScore: forwardingScore ?? 1 } : {}),
  };
}

function readChange(arrived: Arrived, change: NonNullable<WireMessage['protocolMessage']>): Read {
  const networkId = change.key?.id;
  if (!networkId) return { kind: 'none' };
  const { id: changeId, chat, from, at } = arrived;
  const about = { networkId, changeId, chat, from, at };
  if (change.type === PROTOCOL.revoke || change.type === null || change.type === undefined)
    return { kind: 'change', change: { ...about, kind: 'deleted' } };
  if (change.type !== PROTOCOL.edit || !change.editedMessage) return { kind: 'none' };
  const { type, content } = bodyOf(unwrap(change.editedMessage));
  if (type === 'unknown') return { kind: 'none' };
  const words = type === 'text' ? { text: content.text } : { caption: content.caption ?? '' };
  const mentioned = given({ mentions: content.mentions });
  return { kind: 'change', change: { ...about, kind: 'edited', content: { ...words, ...mentioned } } };
}

/** Readers of the families, by the network's field name. */
const READERS: { [Kind in keyof WireMessage]?: (message: WireMessage, viewOnce: boolean) => Body } = {
  conversation: ({ conversation }) => ({ type: 'text', content: { text: conversation ?? '' } }),
  extendedTextMessage: readText,
  imageMessage: (message, once) => withMedia('image', message.imageMessage!, once),
  videoMessage: (message, once) =>
    withMedia(message.videoMessage?.gifPlayback ? 'gif' : 'video', message.videoMessage!, once),
  ptvMessage: (message) => withMedia('ptv', message.ptvMessage!, false),
  audioMessage: (message, once) => withMedia('audio', message.audioMessage!, once),
  documentMessage: (message) => withMedia('document', message.documentMessage!, false),
  stickerMessage: (message) => withMedia('sticker', message.stickerMessage!, false),
  locationMessage: readLocation,
  contactMessage: ({ contactMessage }) => ({
    type: 'contact',
    content: { contacts: cardsOf([contactMessage!]) },
  }),
  contactsArrayMessage: ({ contactsArrayMessage }) => ({
    type: 'contact',
    content: { contacts: cardsOf(contactsArrayMessage?.contacts ?? []) },
  }),
  reactionMessage: readReaction,
  pollCreationMessage: ({ pollCreationMessage }) => readPoll(pollCreationMessage!),
  pollCreationMessageV2: ({ pollCreationMessageV2 }) => readPoll(pollCreationMessageV2!),
  pollCreationMessageV3: ({ pollCreationMessageV3 }) => readPoll(pollCreationMessageV3!),
  eventMessage: readEvent,
  pollCreationMessageV5: ({ pollCreationMessageV5 }) => readPoll(pollCreationMessageV5!),
  liveLocationMessage: readLiveLocation,
  ...BUSINESS_READERS,
};

/** The body of a message; an unknown kind is reported as `unknown` instead of being dropped. */
export function bodyOf({ message, viewOnce }: Unwrapped): Body {
  const kind = kindOf(message);
  const content = viewOnce ? { view_once: true } : {};
  return (kind && READERS[kind]?.(message, viewOnce)) ?? { type: 'unknown', content };
}

function readText({ extendedTextMessage: text }: WireMessage): Body {
  const { title, description, matchedText: url } = text!;
  const preview = url
    ? { preview: { url, ...given({ title: title || null, description: description || null }) } }
    : {};
  return { type: 'text', content: { text: text!.text ?? '', ...mentionsOf(text!), ...preview } };
}

function withMedia(type: string, media: WireMedia, viewOnce: boolean): Body {
  const { caption, fileName, ptt } = media;
  const content = {
    ...(caption ? { caption } : {}),
    ...(type === 'audio' ? { ptt: ptt === true } : {}),
    ...(type === 'document' && fileName ? { file_name: fileName } : {}),
    ...(viewOnce || media.viewOnce ? { view_once: true } : {}),
    ...mentionsOf(media),
  };
  const ref = mediaRef(type, media);
  return { type, content, ...(ref ? { media: ref } : {}) };
}

function readLocation({ locationMessage: place }: WireMessage): Body {
  const { degreesLatitude, degreesLongitude, name, address } = place!;
  const named = given({ name: name || null, address: address || null });
  return {
    type: 'location',
    content: {
      latitude: numberOf(degreesLatitude) ?? 0,
      longitude: numberOf(degreesLongitude) ?? 0,
      ...named,
    },
  };
}

/** Where it began: the network gives what follows to phones alone. */
function readLiveLocation({ liveLocationMessage: place }: WireMessage): Body {
  const { degreesLatitude, degreesLongitude, caption: name } = place!;
  return readLocation({ locationMessage: { degreesLatitude, degreesLongitude, name } });
}

function cardsOf(cards: readonly { displayName?: string | null; vcard?: string | null }[]) {
  return cards.map(({ displayName, vcard }) => {
    const waid = /waid=(\d{5,20})/.exec(vcard ?? '')?.[1];
    return { name: displayName ?? '', ...(waid ? { phone: `+${waid}` } : {}), vcard: vcard ?? '' };
  });
}

function readReaction({ reactionMessage }: WireMessage): Body {
  const emoji = reactionMessage?.text ?? '';
  const removed = emoji === '' ? { removed: true } : {};
  return { type: 'reaction', content: { message_id: reactionMessage?.key?.id ?? '', emoji, ...removed } };
}

function readPoll(poll: NonNullable<WireMessage['pollCreationMessage']>): Body {
  const options = (poll.options ?? []).map((option) => option.optionName ?? '');
  const most = poll.selectableOptionsCount ?? 0;
  // The network writes 0 for "any number".
  return {
    type: 'poll',
    content: { question: poll.name ?? '', options, max_selections: most > 0 ? most : options.length },
  };
}

function readEvent({ eventMessage }: WireMessage): Body {
  const { name, description, startTime, endTime, location, joinLink } = eventMessage!;
  const end = numberOf(endTime);
  return {
    type: 'event',
    content: {
      name: name ?? '',
      start_at: isoOf(numberOf(startTime) ?? 0),
      ...given({
        description: description || null,
        end_at: end ? isoOf(end) : null,
        location: location?.name || null,
        link: joinLink || null,
      }),
    },
  };
}

/** Replaces a time outside the range of a date. */
function isoOf(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}

function mentionsOf({ contextInfo }: { contextInfo?: { mentionedJid?: string[] | null } | null }) {
  const mentioned = contextInfo?.mentionedJid ?? [];
  return mentioned.length > 0 ? { mentions: mentioned } : {};
}
