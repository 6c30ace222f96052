/** Makes the body of `POST /{phone_number_id}/messages` of a message of the port. No I/O, no clock. */
import { charsOf } from '@posthorn/contract/fields.ts';
import type { Composers } from '@posthorn/core/network/abilities.ts';
import { type OutboundMessage, SendRefused } from '@posthorn/core/network/driver.ts';
import { operationOf } from '@posthorn/core/network/messages.ts';
import { recipientOf } from './addresses.ts';
import type { LACKS } from './lacks.ts';

/** Data that the caller has looked up. */
export interface Ingredients {
  /** The network's id of the uploaded media. */
  mediaId?: string | undefined;
  /** The network's id of the message that is quoted. */
  quotedId?: string | undefined;
  /** The network's id of the message that is reacted to. */
  targetId?: string | undefined;
}

type Content = Record<string, unknown>;
type Part = Record<string, unknown>;
/** The `type` of a message, and the field of that name. */
type Compose = (message: OutboundMessage, from: Ingredients) => { type: string; part: Part };

const BUTTON_TITLE_MAX_CHARS = 20;
const BODY_MAX_CHARS = 1_024;
const FOOTER_MAX_CHARS = 60;

/** How each operation is sent. */
export const COMPOSERS: Composers<Compose, (typeof LACKS)[number]> = {
  text: ({ content }) => ({ type: 'text', part: { body: String(content.text), preview_url: false } }),
  link_preview: ({ content }) => ({ type: 'text', part: { body: String(content.text), preview_url: true } }),
  image: media('image', ({ caption }) => ({ caption })),
  video: media('video', ({ caption }) => ({ caption })),
  audio: media('audio', ({ ptt }) => ({ voice: ptt === true ? true : undefined })),
  document: media('document', ({ caption, file_name }, named) => ({ caption, filename: file_name ?? named })),
  sticker: media('sticker', () => ({})),
  location: ({ content }) => ({ type: 'location', part: locationOf(content) }),
  contact: ({ content }) => ({ type: 'contacts', part: contactsOf(content) as unknown as Part }),
  reaction: ({ content }, { targetId }) => {
    if (!targetId) throw new SendRefused('message_not_found');
    return { type: 'reaction', part: { message_id: targetId, emoji: String(content.emoji ?? '') } };
  },
  template: ({ content }) => ({ type: 'interactive', part: buttonsOf(content) }),
  list: ({ content }) => ({ type: 'interactive', part: listOf(content) }),
  link_button: ({ content }) => ({ type: 'interactive', part: linkButtonOf(content) }),
  approved_template: ({ content: { name, language, components } }) => ({
    type: 'template',
    part: given({ name, language: { code: language }, components }),
  }),
};

/**
 * The whole body. `biz_opaque_callback_data` carries our id: statuses bring it back, also of a message whose answer was
 * lost. Throws SendRefused for what this network cannot express.
 */
export function compose(message: OutboundMessage, from: Ingredients): Record<string, unknown> {
  const composer = (COMPOSERS as Readonly<Record<string, Compose | undefined>>)[operationOf(message)];
  if (!composer) throw new SendRefused('unsupported_message');
  const { type, part } = composer(message, from);
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...recipientOf(message.to),
    type,
    [type]: part,
    ...(from.quotedId ? { context: { message_id: from.quotedId } } : {}),
    biz_opaque_callback_data: message.networkId,
  };
}

function media(type: string, more: (content: Content, fileName: string) => Part): Compose {
  return ({ content, media: file }, { mediaId }) => {
    if (!mediaId || !file) throw new SendRefused('media_not_found');
    return { type, part: given({ id: mediaId, ...more(content, file.fileName) }) };
  };
}

function locationOf({ latitude, longitude, name, address }: Content): Part {
  return given({ latitude: String(latitude), longitude: String(longitude), name, address });
}

function contactsOf(content: Content): Part[] {
  const cards = content.contacts as { name: string; phone?: string; vcard: string }[];
  return cards.map(({ name, phone, vcard }) => {
    const numbers = phonesOf(vcard);
    const phones = numbers.length > 0 ? numbers : phone ? [{ phone }] : [];
    return { name: { formatted_name: name || 'Contact', first_name: name || 'Contact' }, phones };
  });
}

const TEL_LINE = /^(?:item\d{1,3}\.)?TEL([^:\r\n]{0,200}):([^\r\n]{1,40})/gim;

/** The numbers of a vCard, with the WhatsApp number of each that has one. */
function phonesOf(vcard: string): Part[] {
  return [...vcard.matchAll(TEL_LINE)].slice(0, 10).map(([, parameters = '', number = '']) => {
    const waId = /waid=(\d{5,20})/i.exec(parameters)?.[1];
    return given({ phone: number.trim(), wa_id: waId });
  });
}

function buttonsOf({ body_text: body, footer_text: footer, buttons }: Content): Part {
  const replies = (buttons as { text: string; id: string }[]).map(({ text, id }) => ({
    type: 'reply',
    reply: { id: within(id, 256), title: within(text, BUTTON_TITLE_MAX_CHARS) },
  }));
  return given({
    type: 'button',
    body: { text: within(String(body), BODY_MAX_CHARS) },
    footer: footer === undefined ? undefined : { text: within(String(footer), FOOTER_MAX_CHARS) },
    action: { buttons: replies },
  });
}

interface Section {
  title?: string;
  rows: { id: string; title: string; description?: string }[];
}

function listOf(content: Content): Part {
  const sections = (content.sections as Section[]).map(({ title, rows }) => given({ title, rows }));
  return {
    type: 'list',
    ...framed(content),
    action: { button: content.button_text, sections },
  };
}

function linkButtonOf(content: Content): Part {
  return {
    type: 'cta_url',
    ...framed(content),
    action: { name: 'cta_url', parameters: { display_text: content.button_text, url: content.url } },
  };
}

function framed({ header_text: header, body_text: body, footer_text: footer }: Content): Part {
  return given({
    header: header === undefined ? undefined : { type: 'text', text: header },
    body: { text: body },
    footer: footer === undefined ? undefined : { text: footer },
  });
}

/** Longer ones are refused by the network only later, as a failure that costs. */
function within(text: string, maxChars: number): string {
  if (charsOf(text) > maxChars) throw new SendRefused('content_too_long');
  return text;
}

/** Without the fields that are not there. */
function given(fields: Part): Part {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}
