/** The answer to every send, and the message as it is read back. */
import { z } from 'zod/v4';
import { timestamp, uuid } from '../fields.ts';
import { IDEMPOTENCY_KEY_MAX_CHARS } from '../limits.ts';
import { MESSAGE_TYPES } from '../message-types.ts';

/** Header Idempotency-Key: 1..255 printable ASCII characters. */
export const idempotencyKey = z
  .string()
  .min(1)
  .max(IDEMPOTENCY_KEY_MAX_CHARS)
  .regex(/^[\x21-\x7e][\x20-\x7e]*$/, 'must be printable ASCII');

/** The state a replay may show; `sent` also once it was delivered or read. */
export const sendState = z.enum(['queued', 'sent', 'failed']);
/** @public The SDK publishes it. */
export type SendState = z.infer<typeof sendState>;

/** 202 of every operation that creates a message. */
export const sendAccepted = z
  .object({
    status: sendState,
    message_id: uuid,
    task_id: z.string().meta({ description: 'The id of the queued task' }),
    idempotency_key: z.string(),
  })
  .meta({ id: 'SendAccepted' });
/** @public The SDK publishes it. */
export type SendAccepted = z.infer<typeof sendAccepted>;

/** 202 of delete and edit, which change a message that is there. */
export const changeAccepted = z
  .object({ status: sendState, task_id: z.string(), idempotency_key: z.string() })
  .meta({ id: 'ChangeAccepted' });
/** @public The SDK publishes it. */
export type ChangeAccepted = z.infer<typeof changeAccepted>;

export const messageStatus = z.enum(['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'received']);
export type MessageStatus = z.infer<typeof messageStatus>;

const messageSource = z.enum(['api', 'device']);

export const message = z
  .object({
    message_id: uuid,
    instance_id: uuid,
    network_id: z.string().nullable().meta({ description: 'The id of the message on the network, in hex' }),
    chat_jid: z.string(),
    chat_name: z.string(),
    phone: z.string().meta({ description: 'The phone number of the other party; empty in groups' }),
    from_jid: z
      .string()
      .nullable()
      .meta({ description: 'The JID of the sender of an inbound message; null on outbound' }),
    from_name: z.string().nullable(),
    direction: z.enum(['inbound', 'outbound']),
    message_type: z.enum(MESSAGE_TYPES),
    status: messageStatus.meta({ description: 'The state of the message; received on inbound messages' }),
    content: z.record(z.string(), z.unknown()).meta({
      description:
        'The content; its fields depend on the type, for text {text, mentions?}. Empty after deletion',
    }),
    is_from_me: z.boolean(),
    source: messageSource.nullable().meta({
      description:
        'The origin of an outbound message: `api` for this API, `device` for the phone or another device of the account; null on inbound',
    }),
    is_forwarded: z.boolean(),
    forwarding_score: z.int(),
    media_id: uuid.nullable(),
    quoted_id: z.string().nullable().meta({
      description:
        'The quoted message: its message_id if it was sent from here, else its id on the network; null without one',
    }),
    idempotency_key: z.string().nullable(),
    failed_reason: z.string().nullable(),
    typing_until: timestamp.nullable(),
    incomplete_reason: z.string().nullable().meta({
      description:
        'Why a received message lacks its media (media_*) or content (content_*); null when it is complete',
    }),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
    read_at: timestamp.nullable(),
    played_at: timestamp.nullable(),
    edited_at: timestamp.nullable(),
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Message' });
export type Message = z.infer<typeof message>;
