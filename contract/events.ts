/** Event names, what each carries, and the patterns that subscribe to them. */
import { z } from 'zod/v4';
import * as payload from './event-payloads.ts';
import { integerId, timestamp, uuid } from './fields.ts';
import { INBOUND_FAMILIES, type InboundFamily, MESSAGE_TYPES, type MessageType } from './message-types.ts';

/** Gives one payload to a whole family of names: `text.received`, `image.received`, ... */
function eachOf<Name extends string, Action extends string, P extends z.ZodType>(
  names: readonly Name[],
  action: Action,
  schema: P,
): { [N in Name as `${N}.${Action}`]: P } {
  return Object.fromEntries(names.map((name) => [`${name}.${action}`, schema])) as {
    [N in Name as `${N}.${Action}`]: P;
  };
}

/** Every event by name, with the schema of its `data`. */
export const eventPayloads = {
  'message.sent': payload.messageSent,
  'message.delivered': payload.messageReceipt,
  'message.read': payload.messageReceipt,
  'message.played': payload.messageReceipt,
  'message.received': payload.messageReceived,
  'message.edited': payload.messageEdited,
  'message.deleted': payload.messageDeleted,
  'message.starred': payload.messageStarred,
  // Received types too: a forward of an order, or deleting a message that was received, may fail as well.
  ...eachOf<MessageType, 'delivery_failed', typeof payload.deliveryFailed>(
    MESSAGE_TYPES,
    'delivery_failed',
    payload.deliveryFailed,
  ),
  // Emitted together with message.received and message.deleted, under an event_id of their own.
  ...eachOf<InboundFamily, 'received', typeof payload.messageReceived>(
    INBOUND_FAMILIES,
    'received',
    payload.messageReceived,
  ),
  ...eachOf<InboundFamily, 'deleted', typeof payload.messageDeleted>(
    INBOUND_FAMILIES,
    'deleted',
    payload.messageDeleted,
  ),
  'label.created': payload.labelChanged,
  'label.updated': payload.labelChanged,
  'label.deleted': payload.labelChanged,
  'label.associated': payload.labelAssociation,
  'label.dissociated': payload.labelAssociation,
  'history.synced': payload.historySynced,
  'status.received': payload.statusReceived,
  'status.viewed': payload.statusViewed,
  'status.reaction': payload.statusReaction,
  'status.reply': payload.statusReply,
  'status.reply_sent': payload.statusReplySent,
  'group.updated': payload.groupUpdated,
  'group.participants_changed': payload.groupParticipantsChanged,
  'presence.updated': payload.presenceUpdated,
  'call.received': payload.callReceived,
  'message_template.status_changed': payload.templateStatusChanged,
  'message_template.quality_changed': payload.templateQualityChanged,
  'message_template.category_changed': payload.templateCategoryChanged,
  'instance.qr_updated': payload.instanceQrUpdated,
  'instance.paired': payload.instanceMoved,
  'instance.connected': payload.instanceMoved,
  'instance.disconnected': payload.instanceMoved,
  'instance.logged_out': payload.instanceMoved,
  'instance.banned': payload.instanceMoved,
  'instance.hard_paused': payload.instanceMoved,
  /** Sent by `POST /v1/webhooks/{id}/test` to that webhook only. */
  'webhook.test': payload.webhookTest,
} satisfies Record<string, z.ZodType>;

export type EventType = keyof typeof eventPayloads;

/** The `data` of an event of type T. */
export type EventData<T extends EventType> = z.infer<(typeof eventPayloads)[T]>;

export const EVENT_TYPES = Object.keys(eventPayloads) as readonly EventType[];

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventPayloads, type);
}

/** The envelope that every consumer receives: the body of a webhook, the data of an SSE frame. */
export const eventEnvelope = z
  .object({
    event_id: uuid,
    type: z.string().meta({ description: 'The name of the event, e.g. message.sent' }),
    created_at: timestamp,
    company_id: integerId,
    instance_id: uuid.nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

export interface EventEnvelope<T extends EventType = EventType> {
  event_id: string;
  type: T;
  created_at: string;
  company_id: number;
  instance_id: string | null;
  data: EventData<T>;
}

/** True when a subscription to `pattern` covers `type`: `*`, the exact name, `message.*` or `*.received`. */
export function matchesPattern(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true;
  if (pattern.endsWith('.*')) return type.startsWith(pattern.slice(0, -1));
  if (pattern.startsWith('*.')) return type.endsWith(pattern.slice(1));
  return false;
}

/** A pattern that covers at least one event; a misspelt one would wait in silence forever. */
export const eventPattern = z
  .string()
  .refine((pattern) => EVENT_TYPES.some((type) => matchesPattern(pattern, type)), 'matches no event')
  .meta({ description: '`*`, an event name, `message.*` or `*.received`', examples: ['message.*'] });
