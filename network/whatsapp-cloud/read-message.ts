/** A message of a webhook as the port tells it. No I/O, no clock. */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { InboundMedia, InboundMessage, NetworkChange } from '@posthorn/core/network/driver.ts';
import type { WebhookMessage } from './webhook-shapes.ts';

type Content = Record<string, unknown>;
interface Body {
  type: string;
  content: Content;
  media?: InboundMedia;
}

/** The chat and the author of a message. */
export interface Between {
  chat: Jid;
  from: Jid;
  fromMe: boolean;
  pushName: string;
  at: Date;
}

const MEDIA = ['image', 'video', 'audio', 'document', 'sticker'] as const;

/** A kind that is not known arrives as `unknown`, and is not dropped. */
export function readMessage(message: WebhookMessage, between: Between): InboundMessage {
  const { fromMe, ...who } = between;
  const { context } = message;
  return {
    networkId: message.id,
    ...who,
    ...(fromMe ? { fromMe } : {}),
    ...bodyOf(message),
    ...(context?.id ? { quotedId: context.id } : {}),
    ...(context?.frequently_forwarded
      ? { forwardingScore: FREQUENT }
      : context?.forwarded
        ? { forwardingScore: 1 }
        : {}),
  };
}

/** Phones show "forwarded many times" from here on. */
const FREQUENT = 5;

/** The change of an earlier message that this message makes; null when it makes none. */
export function readChange(
  message: WebhookMessage,
  { chat, from, fromMe, at }: Between,
): NetworkChange | null {
  const about = { changeId: message.id, chat, from, ...(fromMe ? { fromMe } : {}), at };
  if (message.revoke) return { ...about, networkId: message.revoke.original_message_id, kind: 'deleted' };
  if (!message.edit) return null;
  const networkId = message.edit.original_message_id;
  return { ...about, networkId, kind: 'edited', content: wordsOf(message.edit.message ?? {}) };
}

function wordsOf(edited: Content): Content {
  const textOf = (part: unknown, field: string) => {
    const value = (part as Content | undefined)?.[field];
    return typeof value === 'string' ? value : undefined;
  };
  const text = textOf(edited.text, 'body');
  if (text !== undefined) return { text };
  return { caption: MEDIA.map((kind) => textOf(edited[kind], 'caption')).find(Boolean) ?? '' };
}

function bodyOf(message: WebhookMessage): Body {
  const { type, text, location, contacts, reaction, interactive, button, order } = message;
  for (const kind of MEDIA) {
    const media = type === kind ? message[kind] : undefined;
    if (media) return mediaOf(kind, media);
  }
  if (type === 'text' && text) return { type, content: { text: text.body ?? '' } };
  if (type === 'location' && location) {
    const { latitude, longitude, name, address } = location;
    return { type, content: given({ latitude, longitude, name, address }) };
  }
  if (type === 'contacts' && contacts)
    return { type: 'contact', content: { contacts: contacts.map(cardOf) } };
  if (type === 'reaction' && reaction) {
    const emoji = reaction.emoji ?? '';
    const removed = emoji === '' ? { removed: true } : {};
    return { type, content: { message_id: reaction.message_id, emoji, ...removed } };
  }
  const pressed = interactive?.button_reply ?? interactive?.list_reply;
  if (pressed) return replyOf(message, pressed.id, pressed.title);
  if (interactive?.nfm_reply)
    return replyOf(message, interactive.nfm_reply.name, interactive.nfm_reply.response_json);
  if (button) return replyOf(message, button.payload, button.text);
  if (order) return { type: 'order', content: { order_id: message.id, detail: orderOf(order) } };
  return { type: 'unknown', content: {} };
}

function mediaOf(type: (typeof MEDIA)[number], media: NonNullable<WebhookMessage['image']>): Body {
  const { id, mime_type: mimeType, caption, filename, voice, animated } = media;
  const content = given({
    caption,
    ptt: type === 'audio' ? voice === true : undefined,
    file_name: type === 'document' ? filename : undefined,
  });
  const file = {
    ref: id,
    mimeType: mimeType ?? '',
    fileName: filename ?? '',
    sizeBytes: 0,
    ...(animated ? { animated } : {}),
  };
  return { type, content, media: file };
}

function replyOf({ context }: WebhookMessage, buttonId = '', text?: string): Body {
  return {
    type: 'template_reply',
    content: given({ message_id: context?.id ?? '', button_id: buttonId, text }),
  };
}

type Card = NonNullable<WebhookMessage['contacts']>[number];

const FN_LINE = /^FN(?:;[^:\r\n]{0,100})?:([^\r\n]{0,200})/im;

function cardOf(card: Card): Content {
  const { vcard: whole, name, phones = [] } = card;
  const shown = onOneLine(name?.formatted_name ?? FN_LINE.exec(whole ?? '')?.[1] ?? '');
  const lines = phones.map(({ phone = '', wa_id: waId }) => {
    const parameters = waId && /^\d{5,20}$/.test(waId) ? `;waid=${waId}` : '';
    return `TEL;type=CELL${parameters}:${onOneLine(phone)}`;
  });
  const waId = phones.find(({ wa_id }) => wa_id)?.wa_id;
  const made = ['BEGIN:VCARD', 'VERSION:3.0', `FN:${shown}`, ...lines, ...detailsOf(card), 'END:VCARD'];
  return { name: shown, ...(waId ? { phone: `+${waId}` } : {}), vcard: whole || made.join('\n') };
}

/** The lines of a vCard for what else a card says. */
function detailsOf({ emails = [], urls = [], org = {}, addresses = [], birthday }: Card): string[] {
  const line = (name: string, ...parts: (string | undefined)[]) =>
    parts.some(Boolean) ? [`${name}:${parts.map(escaped).join(';')}`] : [];
  return [
    ...emails.flatMap(({ email }) => line('EMAIL', email)),
    ...line('ORG', ...[org.company, org.department].filter(Boolean)),
    ...line('TITLE', org.title),
    ...addresses.flatMap(({ street, city, state, zip, country }) =>
      line('ADR', '', '', street, city, state, zip, country),
    ),
    ...urls.flatMap(({ url }) => (url ? [`URL:${onOneLine(url)}`] : [])),
    ...line('BDAY', birthday),
  ];
}

/** A part of a line of a vCard, whose signs would end it. */
function escaped(text = ''): string {
  return onOneLine(text).replace(/[\\;,]/g, '\\$&');
}

function onOneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

function orderOf(order: NonNullable<WebhookMessage['order']>): Content {
  const items = order.product_items?.map(plainOf);
  return { ...plainOf(order), ...given({ product_items: items }) };
}

/** The texts and numbers among the fields, unchanged. */
function plainOf(fields: object): Content {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => typeof value === 'string' || typeof value === 'number'),
  );
}

function given(fields: Content): Content {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
