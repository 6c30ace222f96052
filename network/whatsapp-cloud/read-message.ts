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

function cardOf({ name, phones = [] }: NonNullable<WebhookMessage['contacts']>[number]): Content {
  const shown = (name?.formatted_name ?? '').replace(/[\r\n]+/g, ' ');
  const lines = phones.slice(0, 10).map(({ phone = '', wa_id: waId }) => {
    const parameters = waId && /^\d{5,20}$/.test(waId) ? `;waid=${waId}` : '';
    return `TEL;type=CELL${parameters}:${phone.replace(/[\r\n]+/g, ' ')}`;
  });
  const waId = phones.find(({ wa_id }) => wa_id)?.wa_id;
  const vcard = ['BEGIN:VCARD', 'VERSION:3.0', `FN:${shown}`, ...lines, 'END:VCARD'].join('\n');
  return { name: shown, ...(waId ? { phone: `+${waId}` } : {}), vcard };
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
