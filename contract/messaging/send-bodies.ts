/** The bodies of the sends that carry no media. */
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import {
  chatRef,
  failsWith,
  mentions,
  messageRef,
  optionalMessageRef,
  recipient,
  saysExactly,
} from '../fields.ts';
import {
  CONTACTS_PER_SEND_MAX,
  FIELD_MAX_CHARS,
  POLL_OPTIONS_MAX,
  POLL_OPTIONS_MIN,
  TEMPLATE_BUTTONS_MAX,
  TEXT_MAX_CHARS,
  URL_MAX_CHARS,
  VCARD_MAX_BYTES,
} from '../limits.ts';

export const text = z.string().min(1).max(TEXT_MAX_CHARS);
const field = z.string().max(FIELD_MAX_CHARS);
const requiredField = field.min(1);

export const quotedId = optionalMessageRef.meta({
  description: 'The UUID or network id of the message that this one answers',
});

/** Fields of messages that quote or mention. */
export const answering = { quoted_id: quotedId, mentions: mentions.optional() };

export const sendTextBody = z.object({ to: recipient, text, ...answering }).meta({ id: 'SendTextRequest' });

export const httpUrl = z
  .string()
  .min(1)
  .max(URL_MAX_CHARS)
  .refine((url) => url === '' || /^https?:\/\/[^\s]+$/i.test(url), 'must be an http or https URL');

export const sendLinkPreviewBody = z
  .object({
    to: recipient,
    text: text.meta({ description: 'The text; it must contain the URL' }),
    url: httpUrl,
    title: field.optional(),
    description: field.optional(),
    quoted_id: quotedId,
  })
  .refine((body) => body.text.includes(body.url), { message: 'must contain the url', path: ['text'] })
  .meta({ id: 'SendLinkPreviewRequest' });

export const sendLocationBody = z
  .object({
    to: recipient,
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
    name: field.optional(),
    address: field.optional(),
    ...answering,
  })
  .meta({ id: 'SendLocationRequest' });

const contactFields = {
  contact_name: z.string().optional(),
  contact_phone: z
    .string()
    .optional()
    .meta({ description: 'The phone number of the contact, E.164 with a leading +' }),
  vcard: z
    .string()
    .optional()
    .meta({ description: 'A vCard 3.0 of one contact, sent unchanged; 8 KB at most' }),
};
const contactItem = z.object(contactFields);
export type ContactItem = z.infer<typeof contactItem>;

const INCOMPLETE = 'valid contact_name and contact_phone (or a vcard) are required';
const BAD_VCARD = 'vcard must be a vCard 3.0 string under 8 KB';

/** The fault of one contact, in the promised words; a vcard is checked before name and phone. */
function contactFault({ vcard, contact_name, contact_phone }: ContactItem): string | null {
  if (vcard) {
    const whole = vcard.includes('BEGIN:VCARD') && vcard.includes('END:VCARD');
    // A character is a byte at least: the encoder only sees what may still fit.
    const fits = vcard.length <= VCARD_MAX_BYTES && new TextEncoder().encode(vcard).length <= VCARD_MAX_BYTES;
    return whole && fits ? null : BAD_VCARD;
  }
  const complete = contact_name?.trim() && /^\+[1-9]\d{6,14}$/.test(contact_phone ?? '');
  return complete ? null : INCOMPLETE;
}

/** Three forms: `contacts` goes before `vcard`, and that before `contact_name` with `contact_phone`. */
export const sendContactBody = z
  .object({
    to: recipient,
    ...contactFields,
    contacts: boundedArray(contactItem, {
      max: CONTACTS_PER_SEND_MAX,
      tooMany: saysExactly(`too many contacts (at most ${CONTACTS_PER_SEND_MAX} per send)`),
    })
      .optional()
      .meta({ description: 'The contacts, at most 50; two or more make one grouped card' }),
    ...answering,
  })
  .superRefine(({ contacts = [], ...single }, context) => {
    const say = (message: string) =>
      context.addIssue({ code: 'custom', input: single, ...saysExactly(message) });
    if (contacts.length === 0) {
      const fault = contactFault(single);
      if (fault) say(fault);
    }
    for (const [i, contact] of contacts.entries()) {
      const fault = contactFault(contact);
      if (fault) return say(`contacts[${i}]: ${fault}`);
    }
  })
  .meta({ id: 'SendContactRequest' });

export const sendReactionBody = z
  .object({
    to: recipient,
    message_id: messageRef,
    emoji: z.string().max(64).meta({ description: 'The reaction; an empty string takes it back' }),
  })
  .meta({ id: 'SendReactionRequest' });

const pollOption = z.string().min(1).max(FIELD_MAX_CHARS);

export const sendPollBody = z
  .object({
    to: recipient,
    question: requiredField,
    options: boundedArray(pollOption, {
      min: POLL_OPTIONS_MIN,
      tooFew: 'at least 2 options',
      max: POLL_OPTIONS_MAX,
    }),
    max_selections: z.int().min(1).default(1),
  })
  // A vote names options: two of one name could not be told apart.
  .refine((poll) => new Set(poll.options).size === poll.options.length, {
    message: 'options must differ',
    path: ['options'],
  })
  .refine((poll) => poll.max_selections <= poll.options.length, {
    message: 'must not exceed the number of options',
    path: ['max_selections'],
  })
  .meta({ id: 'SendPollRequest' });

export const sendTemplateBody = z
  .object({
    to: recipient,
    body_text: text,
    footer_text: field.optional(),
    buttons: boundedArray(z.object({ text: requiredField, id: requiredField }), {
      min: 1,
      tooFew: 'at least 1 button',
      max: TEMPLATE_BUTTONS_MAX,
      tooMany: `at most ${TEMPLATE_BUTTONS_MAX} buttons`,
    }),
  })
  .meta({ id: 'SendTemplateRequest' });

const moment = z.iso.datetime({ offset: true, error: 'must be an RFC 3339 time' });

export const sendEventBody = z
  .object({
    to: recipient,
    name: requiredField,
    start_at: moment,
    description: z.string().max(TEXT_MAX_CHARS).optional(),
    end_at: moment.optional(),
    location: field.optional(),
    link: httpUrl.optional(),
  })
  .refine((event) => !event.end_at || Date.parse(event.end_at) >= Date.parse(event.start_at), {
    message: 'must not be before start_at',
    path: ['end_at'],
  })
  .meta({ id: 'SendEventRequest' });

export const sendForwardBody = z
  .object({
    to: recipient,
    forward_chat_id: chatRef.meta({
      description: 'The JID or phone number of the chat that holds the original',
    }),
    message_id: messageRef,
  })
  .meta({ id: 'ForwardRequest' });

export const deleteMessageBody = z
  .object({ to: recipient.meta({ description: 'The chat that holds the message' }), message_id: messageRef })
  .meta({ id: 'DeleteMessageRequest' });

const CONTENT_REQUIRED = 'content is required';

export const editMessageBody = z
  .object({
    content: (
      z
        .any()
        .refine(
          (content) => typeof content === 'string' && content.trim() !== '',
          saysExactly(CONTENT_REQUIRED),
        )
        .refine(
          (content) => typeof content !== 'string' || content.length <= TEXT_MAX_CHARS,
          failsWith('BAD_REQUEST', `at most ${TEXT_MAX_CHARS} characters`),
        ) as unknown as z.ZodType<string, string>
    ).meta({ description: 'The new text, or the new caption of the media' }),
  })
  .meta({ id: 'EditMessageRequest' });
