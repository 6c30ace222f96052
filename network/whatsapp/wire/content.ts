/** The kinds of content in a network message: finding it, unwrapping it, its context. */
import { PROTOCOL, type WireContext, type WireMessage } from './wire-types.ts';

const WRAPPERS = [
  'deviceSentMessage',
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'viewOnceMessageV2Extension',
  'documentWithCaptionMessage',
  'editedMessage',
  'associatedChildMessage',
  'lottieStickerMessage',
  'groupMentionedMessage',
  'botInvokeMessage',
  'botForwardedMessage',
  'pollCreationMessageV4',
  'pollCreationOptionImageMessage',
  'eventCoverImage',
  'groupStatusMessage',
  'groupStatusMessageV2',
  'limitSharingMessage',
  'questionMessage',
  'questionReplyMessage',
] as const;
const WRAPPERS_MAX = 5;

/** Media whose words are a caption. */
const CAPTIONED = ['imageMessage', 'videoMessage', 'documentMessage', 'ptvMessage'] as const;

/** Fields beside the content that are no content themselves. A group call is reported as a call. */
const ASIDE: ReadonlySet<string> = new Set([
  ...['messageContextInfo', 'senderKeyDistributionMessage', 'call'],
  'fastRatchetKeySenderKeyDistributionMessage',
]);

/** A content without its wrappers, and whether it is view-once. */
export interface Unwrapped {
  message: WireMessage;
  viewOnce: boolean;
}

export function unwrap(message: WireMessage): Unwrapped {
  let inner = message;
  let viewOnce = false;
  for (let depth = 0; depth < WRAPPERS_MAX; depth += 1) {
    const wrapper = WRAPPERS.find((name) => inner[name]?.message);
    if (!wrapper) break;
    viewOnce ||= wrapper.startsWith('viewOnce');
    // The secret of a message may be outside of its wrapper.
    const messageContextInfo = {
      ...inner.messageContextInfo,
      ...inner[wrapper]!.message!.messageContextInfo,
    };
    const hasContext = Object.keys(messageContextInfo).length > 0;
    inner = { ...inner[wrapper]!.message!, ...(hasContext ? { messageContextInfo } : {}) };
  }
  return { message: inner, viewOnce };
}

/** The secret with which others seal what they say of a message; null if it has none. */
export function secretOf(message: WireMessage): Uint8Array | null {
  const secret = unwrap(message).message.messageContextInfo?.messageSecret;
  return secret?.length ? secret : null;
}

/** The message with this secret, if it has none of its own. */
export function withSecret(message: WireMessage, secret: Uint8Array | null | undefined): WireMessage {
  if (!secret?.length || secretOf(message)) return message;
  return { ...message, messageContextInfo: { ...message.messageContextInfo, messageSecret: secret } };
}

type Kind = Exclude<keyof WireMessage, 'conversation'>;

/** The name of the content field; null if there is none. */
export function kindOf(message: WireMessage): keyof WireMessage | null {
  const kind = Object.entries(message).find(
    ([name, value]) => value !== null && value !== undefined && value !== '' && !ASIDE.has(name),
  );
  return (kind?.[0] as keyof WireMessage | undefined) ?? null;
}

/** The context of the content. */
export function readContext(message: WireMessage): WireContext {
  const kind = kindOf(message);
  const content =
    kind && kind !== 'conversation' ? (message[kind] as { contextInfo?: WireContext | null }) : null;
  return content?.contextInfo ?? {};
}

/**
 * The kinds of content that people write. With a timer in its context a message disappears; a plain text has no
 * context.
 */
const WRITTEN: ReadonlySet<keyof WireMessage> = new Set([
  ...(['conversation', 'extendedTextMessage', 'contactMessage', 'contactsArrayMessage'] as const),
  ...(['imageMessage', 'videoMessage', 'ptvMessage', 'audioMessage', 'documentMessage'] as const),
  ...(['stickerMessage', 'locationMessage', 'pollCreationMessage', 'pollCreationMessageV3'] as const),
  'eventMessage',
] as const);
/** Far above the longest that apps offer, 90 days. */
const TIMER_MAX_S = 366 * 24 * 60 * 60;

/**
 * Seconds after which messages of its chat disappear, as the message says: 0 if they stay, null if it says nothing of
 * that.
 */
export function timerOf(message: WireMessage): number | null {
  const inner = unwrap(message).message;
  const { protocolMessage: protocol } = inner;
  if (protocol?.type === PROTOCOL.timer) return secondsOf(protocol.ephemeralExpiration);
  return isWritten(inner) ? secondsOf(readContext(inner).expiration) : null;
}

export function isWritten(message: WireMessage): boolean {
  const kind = kindOf(unwrap(message).message);
  return kind !== null && WRITTEN.has(kind);
}

/** The sender may have written any number. */
function secondsOf(value: number | null | undefined): number {
  return typeof value === 'number' && value > 0 && value <= TIMER_MAX_S ? Math.floor(value) : 0;
}

/** The content to quote or send again, without its own context and secrets. */
export function bareContent(message: WireMessage): WireMessage {
  const inner = unwrap(message).message;
  const kind = kindOf(inner);
  if (!kind) return {};
  if (kind === 'conversation') return { conversation: inner.conversation };
  const { contextInfo: _, ...content } = inner[kind] as { contextInfo?: unknown };
  return { [kind]: content };
}

/**
 * The message with this context, inside its wrappers. Converts a plain text to a type that can have a
 * context.
 */
export function withContext(message: WireMessage, context: WireContext): WireMessage {
  const wrapper = WRAPPERS.find((name) => message[name]?.message);
  if (wrapper)
    return { ...message, [wrapper]: { message: withContext(message[wrapper]!.message!, context) } };
  const kind = kindOf(message);
  if (!kind) return message;
  if (kind === 'conversation') {
    const { conversation, ...aside } = message;
    return { extendedTextMessage: { text: conversation, contextInfo: context }, ...aside };
  }
  const content = message[kind as Kind] as { contextInfo?: WireContext | null };
  return { ...message, [kind]: { ...content, contextInfo: { ...content.contextInfo, ...context } } };
}

/** The message with an edited text or caption, inside its wrappers. Drops the old text's link preview. */
export function withWords(message: WireMessage, words: { text?: unknown; caption?: unknown }): WireMessage {
  const wrapper = WRAPPERS.find((name) => message[name]?.message);
  if (wrapper) return { ...message, [wrapper]: { message: withWords(message[wrapper]!.message!, words) } };
  const { text, caption } = words;
  const kind = kindOf(message);
  if (typeof text === 'string') {
    if (kind === 'conversation') return { ...message, conversation: text };
    if (kind !== 'extendedTextMessage') return message;
    const { contextInfo } = message.extendedTextMessage!;
    return { ...message, extendedTextMessage: { text, ...(contextInfo ? { contextInfo } : {}) } };
  }
  const field = CAPTIONED.find((name) => name === kind);
  return field && typeof caption === 'string'
    ? { ...message, [field]: { ...message[field], caption } }
    : message;
}

/** The context of an answer. */
export function contextOf(answered: { id: string; from: string; message: WireMessage }): WireContext {
  return { stanzaId: answered.id, participant: answered.from, quotedMessage: answered.message };
}

/**
 * A copy for another chat. Our own message that was not itself forwarded becomes a clean copy; any other
 * carries the forwarded mark and the new number of forwards (SND-27). The media stays where it was uploaded.
 */
export function forwardedCopy(source: { fromMe: boolean; message: WireMessage }): WireMessage {
  const { isForwarded, forwardingScore } = readContext(unwrap(source.message).message);
  const copy = bareContent(source.message);
  if (source.fromMe && !isForwarded) return copy;
  return withContext(copy, { isForwarded: true, forwardingScore: (forwardingScore ?? 0) + 1 });
}
