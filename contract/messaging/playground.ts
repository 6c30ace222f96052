import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { failsWith, mentions, messageRef, phoneField, timestamp, uuid } from '../fields.ts';
import {
  CONTACTS_PER_SEND_MAX,
  FIELD_MAX_CHARS,
  POLL_OPTIONS_MAX,
  TEXT_MAX_CHARS,
  URL_MAX_CHARS,
  VCARD_MAX_BYTES,
} from '../limits.ts';
import { route } from '../route-meta.ts';
import { messageStatus } from './message.ts';
import { MEDIA_SEND_ERRORS } from './messages.ts';
import { answering } from './send-bodies.ts';

export const PLAYGROUND_KINDS = [
  'text',
  'image',
  'audio',
  'document',
  'location',
  'contact',
  'poll',
  'reaction',
] as const;
export type PlaygroundKind = (typeof PLAYGROUND_KINDS)[number];

const isKind = (kind: string): kind is PlaygroundKind =>
  (PLAYGROUND_KINDS as readonly string[]).includes(kind);
const words = z.string().max(TEXT_MAX_CHARS).optional();
const field = z.string().max(FIELD_MAX_CHARS).optional();
const card = z.object({
  contact_name: field,
  contact_phone: field,
  vcard: z.string().max(VCARD_MAX_BYTES).optional(),
});

/** The fields of every kind; which of them a kind takes and needs is judged by the send itself. */
export const playgroundBody = z
  .object({
    kind: z
      .string()
      .min(1)
      .refine(
        isKind,
        failsWith('PLAYGROUND_UNSUPPORTED_KIND', `must be one of ${PLAYGROUND_KINDS.join(', ')}`),
      )
      .meta({ description: `The kind of content: ${PLAYGROUND_KINDS.join(', ')}`, examples: ['text'] }),
    to: phoneField.optional().meta({ description: 'One of your simulated phones; default: the first one' }),
    text: words,
    caption: words,
    media_url: z.string().min(1).max(URL_MAX_CHARS).optional(),
    media_base64: z.string().min(1).optional(),
    file_name: field,
    ptt: z.boolean().optional(),
    view_once: z.boolean().optional(),
    latitude: z.number().optional(),
    longitude: z.number().optional(),
    name: field,
    address: field,
    contact_name: field,
    contact_phone: field,
    vcard: z.string().max(VCARD_MAX_BYTES).optional(),
    contacts: boundedArray(card, { max: CONTACTS_PER_SEND_MAX }).optional(),
    question: field,
    options: boundedArray(z.string().max(FIELD_MAX_CHARS), { max: POLL_OPTIONS_MAX }).optional(),
    max_selections: z.int().optional(),
    message_id: messageRef.optional().meta({ description: 'For a reaction: one of your messages' }),
    emoji: field,
    ...answering,
    mentions: mentions.optional(),
  })
  .meta({ id: 'PlaygroundRequest' });
export type PlaygroundBody = z.infer<typeof playgroundBody>;

const requestExamples = z
  .object({ curl: z.string(), sdk: z.string(), cli: z.string() })
  .meta({ id: 'PlaygroundExamples' });
export type PlaygroundExamples = z.infer<typeof requestExamples>;

export const playgroundState = z
  .object({
    enabled: z.boolean(),
    kinds: z.array(z.enum(PLAYGROUND_KINDS)),
    budget: z.object({ limit: z.int(), remaining: z.int(), resets_at: timestamp }),
  })
  .meta({ id: 'Playground' });
export type PlaygroundState = z.infer<typeof playgroundState>;

export const playgroundSent = z
  .object({
    message_id: uuid,
    phone: z.string().meta({ description: 'The simulated phone that receives the message' }),
    request: requestExamples.meta({ description: 'The same send from one of your instances' }),
  })
  .meta({ id: 'PlaygroundSent' });
export type PlaygroundSent = z.infer<typeof playgroundSent>;

export const playgroundMessage = z
  .object({
    status: messageStatus,
    events: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'The events of the message, oldest first' }),
    shown: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'The text that the phone shows; null while it shows nothing or cannot be reached',
    }),
  })
  .meta({ id: 'PlaygroundMessage' });
export type PlaygroundMessage = z.infer<typeof playgroundMessage>;

/** Sends that cost nothing: from a shared simulated instance to a simulated phone. */
export const playground = {
  show: route(
    { auth: 'any', access: 'all', summary: 'Read the kinds and the budget of the playground' },
    { method: 'GET', path: '/v1/playground', responses: { 200: playgroundState } },
  ),
  send: route(
    {
      auth: 'any',
      access: 'all',
      errors: [
        ...MEDIA_SEND_ERRORS,
        'PLAYGROUND_DISABLED',
        'PLAYGROUND_BUDGET_EXCEEDED',
        'PLAYGROUND_RATE_LIMITED',
        'PLAYGROUND_UNSUPPORTED_KIND',
      ],
      summary: 'Send in the playground',
      description:
        'The body is the one of the real send, plus kind. The send does not affect your instances, the guard or your plan. Each user has 50 sends a day and 10 a minute.',
    },
    {
      method: 'POST',
      path: '/v1/playground/messages',
      body: playgroundBody,
      responses: { 202: playgroundSent },
    },
  ),
  message: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'MESSAGE_NOT_FOUND',
      errors: ['PLAYGROUND_DISABLED'],
      summary: 'Read one of your playground messages, its events and the screen of the phone',
    },
    {
      method: 'GET',
      path: '/v1/playground/messages/:messageId',
      responses: { 200: playgroundMessage },
    },
  ),
} satisfies AppRouter;
