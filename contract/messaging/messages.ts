import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { mentions, optionalMessageRef, recipient, timestamp, uuid } from '../fields.ts';
import { IDEMPOTENCY_KEY_MAX_CHARS, TEXT_MAX_CHARS } from '../limits.ts';
import { MESSAGE_TYPES } from '../message-types.ts';
import { route } from '../route-meta.ts';

/** Header Idempotency-Key: 1..255 printable ASCII characters (ours; the spec sets no bound). */
export const idempotencyKey = z
  .string()
  .min(1)
  .max(IDEMPOTENCY_KEY_MAX_CHARS)
  .regex(/^[\x21-\x7e][\x20-\x7e]*$/, 'must be printable ASCII');

export const sendTextBody = z
  .object({
    to: recipient,
    text: z.string().min(1).max(TEXT_MAX_CHARS),
    quoted_id: optionalMessageRef.meta({ description: 'The message answered: its UUID or network id' }),
    mentions: mentions.optional(),
  })
  .meta({ id: 'SendTextRequest' });
export type SendTextBody = z.infer<typeof sendTextBody>;

/** The state a replay may show (spec 4.2 rule 2, design 7 "sends"). */
export const sendState = z.enum(['queued', 'sent', 'failed']);
export type SendState = z.infer<typeof sendState>;

/** 202 of every operation that creates a message (spec 4.2 rule 3). */
export const sendAccepted = z
  .object({
    status: sendState,
    message_id: uuid,
    task_id: z.string().meta({ description: 'Internal id of the queued task' }),
    idempotency_key: z.string(),
  })
  .meta({ id: 'SendAccepted' });
export type SendAccepted = z.infer<typeof sendAccepted>;

export const messageStatus = z.enum(['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'received']);
export type MessageStatus = z.infer<typeof messageStatus>;

export const message = z
  .object({
    message_id: uuid,
    instance_id: uuid,
    network_id: z.string().nullable().meta({ description: "The network's own id, in hex" }),
    chat_jid: z.string(),
    phone: z.string().meta({ description: 'Phone of the other party; empty in groups' }),
    from_jid: z.string().nullable().meta({ description: 'Who wrote an inbound message; null on outbound' }),
    direction: z.enum(['inbound', 'outbound']),
    message_type: z.enum(MESSAGE_TYPES),
    status: messageStatus.meta({ description: 'received on inbound messages' }),
    content: z.record(z.string(), z.unknown()).meta({ description: 'By type; for text {text, mentions?}' }),
    is_from_me: z.boolean(),
    is_forwarded: z.boolean(),
    forwarding_score: z.int(),
    media_id: uuid.nullable(),
    quoted_id: z.string().nullable(),
    idempotency_key: z.string().nullable(),
    failed_reason: z.string().nullable(),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
    read_at: timestamp.nullable(),
    played_at: timestamp.nullable(),
  })
  .meta({ id: 'Message' });
export type Message = z.infer<typeof message>;

const INSTANCE = '/v1/instances/:instanceId' as const;

/** What every asynchronous send can answer before it queues (spec 4.2 rules 5 to 8). */
const SEND_ERRORS = [
  'INVALID_PHONE',
  'INVALID_RECIPIENT',
  'MESSAGE_NOT_FOUND',
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_BANNED',
  'INSTANCE_HARD_PAUSED',
  'PASSIVE_MODE_ENABLED',
  'BLOCKED_DUPLICATE_CONTENT',
  'BLOCKED_NO_RECIPROCITY',
  'BLOCKED_TEMPERATURE_LIMIT',
] as const;

const SEND_DESCRIPTION =
  'Accepted with 202 once it is durably queued. Repeating the same Idempotency-Key answers the same message_id and task_id with the current state and the header Idempotent-Replayed: true.';

export const messages = {
  sendText: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'INSTANCE_NOT_FOUND',
      operation: 'text',
      errors: SEND_ERRORS,
      summary: 'Send a text',
      description: SEND_DESCRIPTION,
    },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/text`,
      body: sendTextBody,
      responses: { 202: sendAccepted },
    },
  ),
  get: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'INSTANCE_NOT_FOUND',
      errors: ['MESSAGE_NOT_FOUND'],
      summary: 'Read a message',
      description:
        'By its UUID or its network id. INSTANCE_NOT_FOUND or MESSAGE_NOT_FOUND, by what is missing.',
    },
    { method: 'GET', path: `${INSTANCE}/message/:messageId`, responses: { 200: message } },
  ),
} satisfies AppRouter;
