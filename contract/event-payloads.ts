/** The `data` of each kind of event. */
import { z } from 'zod/v4';
import { timestamp, uuid } from './fields.ts';
import { MESSAGE_TYPES } from './message-types.ts';
import { instanceState } from './messaging/instances.ts';

const messageFamily = z.object({
  message_ids: z
    .array(z.string())
    .min(1)
    .meta({ description: 'The ids of the messages; message_ids[0] is the message_id of the 202 answer' }),
  message_type: z.enum(MESSAGE_TYPES),
  chat: z.string().meta({ description: 'The JID of the chat' }),
  phone: z.string().meta({
    description:
      'The phone number of the interacting party; empty for groups, and when the phone behind an anonymous id is unknown',
  }),
  from: z.string().meta({ description: 'The JID of the interacting party, the same one as in phone' }),
  is_from_me: z.boolean(),
  timestamp,
  idempotency_key: z
    .string()
    .optional()
    .meta({ description: 'The Idempotency-Key of the send; only on messages sent through the API' }),
  media_id: uuid.optional(),
  is_forwarded: z.boolean().optional(),
  forwarding_score: z.int().optional(),
});

/** Fields of events beside the content of a message. */
const contentDetails = {
  mime_type: z.string().optional(),
  quoted_id: z.string().optional().meta({
    description: 'The quoted message: its message_id if it was sent from here, else its id on the network',
  }),
  is_animated: z.boolean().optional().meta({ description: 'Whether a sticker is animated' }),
  incomplete_reason: z.string().optional().meta({
    description:
      'Set when the message is incomplete. media_*: the media is missing, e.g. media_expired, media_too_large, media_unavailable, media_storage_full; content_cut: long texts were cut; content_unreadable: the content could not be read',
  }),
};

/** Without an idempotency_key: the account sent it on its phone or another device, and `content` says what. */
export const messageSent = messageFamily
  .extend({
    contacts: z
      .array(z.record(z.string(), z.unknown()))
      .optional()
      .meta({ description: 'The contact cards; on contact sends only' }),
    content: z.record(z.string(), z.unknown()).optional().meta({
      description:
        "The content; its fields depend on the type, for text {text, mentions?}. Only on messages from the account's phone or another device, which have no idempotency_key",
    }),
    ...contentDetails,
  })
  .meta({ id: 'MessageSentEvent' });

/** message.delivered, message.read, message.played: `from` is who received, read or played it. */
export const messageReceipt = messageFamily.meta({ id: 'MessageReceiptEvent' });

/** message.received and `<family>.received`. */
export const messageReceived = messageFamily
  .extend({
    content: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The content; its fields depend on the type, for text {text, mentions?}' }),
    push_name: z.string().optional(),
    ...contentDetails,
    detail: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Details of an order or a product' }),
  })
  .meta({ id: 'MessageReceivedEvent' });

export const messageEdited = messageFamily
  .extend({ content: z.record(z.string(), z.unknown()) })
  .meta({ id: 'MessageEditedEvent' });

/** message.deleted and `<family>.deleted`. */
export const messageDeleted = messageFamily.meta({ id: 'MessageDeletedEvent' });

export const messageStarred = messageFamily
  .extend({ starred: z.boolean() })
  .meta({ id: 'MessageStarredEvent' });

/** `<type>.delivery_failed`. */
export const deliveryFailed = messageFamily
  .extend({
    wire_state: z.enum(['not_sent', 'unknown', 'sent']).meta({
      description:
        'Whether the send reached the network. not_sent: it did not; sent: it did; unknown: the service cannot tell',
    }),
    reason: z.string().meta({
      description: 'The reason, in stable snake_case, e.g. forward_source_not_found, outcome_unknown',
    }),
    operation: z
      .enum(['delete', 'edit'])
      .optional()
      .meta({ description: 'The change that failed; absent when the message itself failed' }),
  })
  .meta({ id: 'DeliveryFailedEvent' });

export const labelChanged = z
  .object({ label_id: z.string(), name: z.string(), color: z.int().min(0).max(19), timestamp })
  .meta({ id: 'LabelEvent' });

/** Exactly one of `chat` and `message_id`, by what the label was put on or taken off. */
export const labelAssociation = z
  .object({ label_id: z.string(), chat: z.string().optional(), message_id: z.string().optional(), timestamp })
  .meta({ id: 'LabelAssociationEvent' });

/** How much of the time before the pairing was taken over. */
export const historySynced = z
  .object({ chats: z.int(), contacts: z.int(), messages: z.int(), timestamp })
  .meta({ id: 'HistorySyncedEvent' });

/** Unix seconds: the time stamps of status events are integers. */
const unixSeconds = z.int().nonnegative();
const statusType = z.enum(['text', 'image', 'video', 'audio']);
const statusParty = { phone: z.string(), from: z.string(), status_message_id: z.string() };

export const statusReceived = z
  .object({
    ...statusParty,
    type: statusType,
    content: z.string(),
    media_id: uuid.optional(),
    timestamp: unixSeconds,
  })
  .meta({ id: 'StatusReceivedEvent' });

export const statusViewed = z
  .object({
    ...statusParty,
    status_type: statusType,
    receipt_type: z.enum(['read', 'played']),
    timestamp: unixSeconds,
  })
  .meta({ id: 'StatusViewedEvent' });

export const statusReaction = z
  .object({
    ...statusParty,
    push_name: z.string(),
    status_type: statusType,
    emoji: z.string(),
    removed: z.boolean().meta({ description: 'Whether the reaction was taken back; emoji is empty then' }),
    timestamp: unixSeconds,
  })
  .meta({ id: 'StatusReactionEvent' });

export const statusReply = z
  .object({
    ...statusParty,
    push_name: z.string(),
    status_type: statusType,
    reply_message_id: z.string(),
    reply_type: z.string(),
    content: z.string(),
    timestamp: unixSeconds,
  })
  .meta({ id: 'StatusReplyEvent' });

export const statusReplySent = z
  .object({
    chat: z.string(),
    phone: z.string(),
    status_message_id: z.string(),
    type: z.enum(['text', 'image', 'video', 'sticker']),
    timestamp: unixSeconds,
  })
  .meta({ id: 'StatusReplySentEvent' });

const groupFact = {
  jid: z.string().meta({ description: 'The JID of the group' }),
  by: z.string().nullable().meta({
    description: 'The JID of the participant who made the change; null when the network does not report it',
  }),
  phone: z
    .string()
    .meta({ description: 'The phone number of the participant who made the change; empty when unknown' }),
  timestamp,
};

/** Only what changed. */
export const groupUpdated = z
  .object({
    ...groupFact,
    name: z.string().optional(),
    description: z.string().optional(),
    announce: z.boolean().optional(),
    locked: z.boolean().optional(),
  })
  .meta({ id: 'GroupUpdatedEvent' });

export const groupParticipantsChanged = z
  .object({
    ...groupFact,
    action: z.enum(['add', 'remove', 'promote', 'demote']),
    participants: z.array(z.object({ jid: z.string(), phone: z.string() })),
  })
  .meta({ id: 'GroupParticipantsEvent' });

export const presenceUpdated = z
  .object({
    jid: z.string(),
    phone: z.string().meta({ description: 'The phone number; empty when unknown' }),
    chat: z.string().nullable().meta({
      description: 'The chat in which the contact is typing or recording; null for online and offline',
    }),
    state: z.enum(['available', 'unavailable', 'composing', 'recording', 'paused']),
    last_seen: timestamp.nullable(),
    timestamp,
  })
  .meta({ id: 'PresenceEvent' });

/** instance.connected, .disconnected, .paired, .logged_out, .banned, .hard_paused. */
export const instanceMoved = z
  .object({
    state: instanceState,
    previous_state: instanceState,
    reason: z
      .string()
      .nullable()
      .meta({ description: 'The reason, in stable snake_case, e.g. connection_lost, replaced' }),
    phone: z.string().nullable(),
    jid: z.string().nullable(),
    timestamp,
  })
  .meta({ id: 'InstanceEvent' });

export const instanceQrUpdated = z
  .object({ qr: z.string(), expires_at: timestamp, timestamp })
  .meta({ id: 'InstanceQrEvent' });

export const callReceived = z
  .object({
    call_id: z.string(),
    phone: z.string(),
    from: z.string(),
    group_jid: z
      .string()
      .nullable()
      .meta({ description: 'The JID of the group that was called; null for a direct call' }),
    is_video: z.boolean(),
    rejected: z
      .boolean()
      .meta({ description: 'Whether the instance rejected the call because reject_calls is on' }),
    timestamp,
  })
  .meta({ id: 'CallReceivedEvent' });

const reviewedTemplate = {
  template_id: z.string(),
  name: z.string(),
  language: z.string(),
  timestamp,
};

export const templateStatusChanged = z
  .object({
    ...reviewedTemplate,
    status: z.string(),
    reason: z.string().nullable(),
  })
  .meta({ id: 'MessageTemplateStatusEvent' });

export const templateQualityChanged = z
  .object({
    ...reviewedTemplate,
    quality: z.string(),
    previous_quality: z.string().nullable(),
  })
  .meta({ id: 'MessageTemplateQualityEvent' });

export const templateCategoryChanged = z
  .object({
    ...reviewedTemplate,
    category: z.string(),
    previous_category: z.string().nullable(),
  })
  .meta({ id: 'MessageTemplateCategoryEvent' });

export const webhookTest = z.object({ webhook_id: z.int(), timestamp }).meta({ id: 'WebhookTestEvent' });
