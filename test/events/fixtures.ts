import type { EventData, EventType } from '@posthorn/contract/events.ts';
import {
  INBOUND_FAMILIES,
  type InboundFamily,
  MESSAGE_TYPES,
  type MessageType,
} from '@posthorn/contract/message-types.ts';

/** One example of every event: the documentation shows it, and the tests deliver it in every way. */
export type EventFixtures = { [T in EventType]: EventData<T> };

const TIME = '2026-01-31T12:00:00.000Z';
const UNIX_S = 1_769_860_800;
const MESSAGE_ID = '0198c0de-0000-7000-8000-000000000001';

const message = {
  message_ids: [MESSAGE_ID],
  message_type: 'text' as const,
  chat: '5511999990000@s.whatsapp.net',
  phone: '5511999990000',
  from: '5511999990000@s.whatsapp.net',
  is_from_me: true,
  timestamp: TIME,
};
const inbound = { ...message, message_ids: ['0198c0de-0000-7000-8000-000000000002'], is_from_me: false };
const received = { ...inbound, content: { text: 'Ol\u00e1!' }, push_name: 'Ana' };
const status = {
  phone: '5511999990000',
  from: '123456789012345@lid',
  status_message_id: '3EB0A1B2C3D4E5F607',
};
const moved = {
  state: 'CONNECTED' as const,
  previous_state: 'DISCONNECTED' as const,
  reason: null,
  phone: '5511988880000',
  jid: '5511988880000@s.whatsapp.net',
  timestamp: TIME,
};
const template = {
  template_id: '594425479261596',
  name: 'order_shipped',
  language: 'en_US',
  timestamp: TIME,
};
const lost = { ...moved, state: 'DISCONNECTED' as const, previous_state: 'CONNECTED' as const };

const failures = Object.fromEntries(
  MESSAGE_TYPES.map((type) => [
    `${type}.delivery_failed`,
    { ...message, idempotency_key: 'order-1001', wire_state: 'not_sent', reason: 'recipient_not_found' },
  ]),
) as Record<`${MessageType}.delivery_failed`, EventData<'text.delivery_failed'>>;
const families = Object.fromEntries(
  INBOUND_FAMILIES.flatMap((family) => [
    [`${family}.received`, received],
    [`${family}.deleted`, inbound],
  ]),
) as Record<`${InboundFamily}.received`, EventData<'text.received'>> &
  Record<`${InboundFamily}.deleted`, EventData<'text.deleted'>>;

export const eventFixtures: EventFixtures = {
  'message.sent': { ...message, idempotency_key: 'order-1001' },
  'message.delivered': message,
  'message.read': message,
  'message.played': { ...message, message_type: 'audio' },
  'message.received': received,
  'message.edited': { ...message, content: { text: 'corrected' } },
  'message.deleted': message,
  'message.starred': { ...message, starred: true },
  ...failures,
  ...families,
  'label.created': { label_id: '7', name: 'VIP', color: 3, timestamp: TIME },
  'label.updated': { label_id: '7', name: 'VIP clients', color: 4, timestamp: TIME },
  'label.deleted': { label_id: '7', name: 'VIP clients', color: 4, timestamp: TIME },
  'label.associated': { label_id: '7', chat: message.chat, timestamp: TIME },
  'label.dissociated': { label_id: '7', message_id: MESSAGE_ID, timestamp: TIME },
  'history.synced': { chats: 12, contacts: 80, messages: 1500, timestamp: TIME },
  'status.received': { ...status, type: 'text', content: 'On holiday', timestamp: UNIX_S },
  'status.viewed': { ...status, status_type: 'text', receipt_type: 'read', timestamp: UNIX_S },
  'status.reaction': {
    ...status,
    push_name: 'Ana',
    status_type: 'text',
    emoji: '\u{1F44D}',
    removed: false,
    timestamp: UNIX_S,
  },
  'status.reply': {
    ...status,
    push_name: 'Ana',
    status_type: 'text',
    reply_message_id: '3EB0F1E2D3C4B5A697',
    reply_type: 'text',
    content: 'Enjoy!',
    timestamp: UNIX_S,
  },
  'status.reply_sent': {
    chat: message.chat,
    phone: message.phone,
    status_message_id: status.status_message_id,
    type: 'text',
    timestamp: UNIX_S,
  },
  'group.updated': {
    jid: '120363041234567890@g.us',
    by: message.from,
    phone: message.phone,
    name: 'Support, weekdays',
    timestamp: TIME,
  },
  'group.participants_changed': {
    jid: '120363041234567890@g.us',
    by: message.from,
    phone: message.phone,
    action: 'add',
    participants: [{ jid: '123456789012345@lid', phone: '5511977770000' }],
    timestamp: TIME,
  },
  'presence.updated': {
    jid: message.from,
    phone: message.phone,
    chat: null,
    state: 'available',
    last_seen: null,
    timestamp: TIME,
  },
  'call.received': {
    call_id: '3EB0C0FFEE00000000',
    phone: message.phone,
    from: message.from,
    group_jid: null,
    is_video: false,
    rejected: true,
    timestamp: TIME,
  },
  'message_template.status_changed': { ...template, status: 'REJECTED', reason: 'INVALID_FORMAT' },
  'message_template.quality_changed': { ...template, quality: 'YELLOW', previous_quality: 'GREEN' },
  'message_template.category_changed': { ...template, category: 'MARKETING', previous_category: 'UTILITY' },
  'instance.qr_updated': { qr: '2@pairing-data', expires_at: '2026-01-31T12:00:20.000Z', timestamp: TIME },
  'instance.paired': { ...moved, previous_state: 'PAIRING' },
  'instance.connected': moved,
  'instance.disconnected': { ...lost, reason: 'connection_lost' },
  'instance.logged_out': { ...lost, reason: 'logged_out' },
  'instance.banned': { ...lost, state: 'BANNED', reason: 'banned' },
  'instance.hard_paused': { ...lost, state: 'HARD_PAUSED', reason: 'throttled' },
  'webhook.test': { webhook_id: 12, timestamp: TIME },
};
