import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { integerQuery, phoneField, timestamp } from '../fields.ts';
import { CONTACTS_CHECK_MAX, CURSOR_MAX_CHARS, LIST_LIMIT, NAME_MAX_CHARS } from '../limits.ts';
import { MESSAGE_TYPES } from '../message-types.ts';
import { c, route } from '../route-meta.ts';

const lastMessage = z.object({
  message_id: z.string(),
  direction: z.enum(['inbound', 'outbound']),
  type: z.enum(MESSAGE_TYPES),
  preview: z.string().meta({
    description: 'The beginning of the text or caption; empty for other types and deleted messages',
  }),
  timestamp,
});

export const chat = z
  .object({
    chat_jid: z.string(),
    type: z.enum(['user', 'group']),
    phone: z.string().meta({ description: 'The phone number; empty for groups and anonymous ids' }),
    name: z
      .string()
      .meta({ description: 'The name as saved on the phone, else as the group or contact chose it' }),
    unread_count: z.int().meta({ description: 'The number of received messages that nobody has read' }),
    marked_unread: z.boolean().meta({ description: 'Whether somebody marked the chat as unread' }),
    archived: z.boolean(),
    pinned: z.boolean(),
    muted: z.boolean(),
    muted_until: timestamp
      .nullable()
      .meta({ description: 'When the mute ends; null when the chat is not muted, or muted without an end' }),
    window_until: timestamp.nullable().meta({
      description:
        'On whatsapp-cloud: the end of the 24 hours after the last message of the contact, in which any content may be sent to this chat; null when only approved templates may be sent, and on other networks',
    }),
    labels: z.array(z.string()).meta({ description: 'The label_ids of the chat' }),
    last_message: lastMessage.nullable(),
    updated_at: timestamp,
  })
  .meta({ id: 'Chat' });
export type Chat = z.infer<typeof chat>;

export const contact = z
  .object({
    jid: z.string(),
    phone: z.string().meta({ description: 'The phone number; empty for anonymous ids' }),
    name: z.string().meta({ description: 'The name as saved on the phone; empty when it is not saved' }),
    push_name: z.string().meta({ description: 'The name that the contact chose' }),
    saved: z.boolean(),
    blocked: z.boolean(),
    updated_at: timestamp,
  })
  .meta({ id: 'Contact' });
export type Contact = z.infer<typeof contact>;

export const readChatBody = z
  .object({
    read: z.boolean().default(true).meta({ description: 'true marks the chat as read, false as unread' }),
  })
  .meta({ id: 'ReadChatRequest' });
export const archiveChatBody = z.object({ archived: z.boolean() }).meta({ id: 'ArchiveChatRequest' });
export const pinChatBody = z.object({ pinned: z.boolean() }).meta({ id: 'PinChatRequest' });

const YEAR_S = 366 * 86_400;

export const muteChatBody = z
  .object({
    muted: z.boolean().default(true),
    until: z.iso.datetime({ offset: true, error: 'must be an RFC 3339 time' }).optional().meta({
      description:
        'The end of the mute, in the future. Without this and duration_seconds the mute has no end',
    }),
    duration_seconds: z.int().min(1).max(YEAR_S).optional(),
  })
  .refine(
    ({ until, duration_seconds }) => until === undefined || duration_seconds === undefined,
    'give until or duration_seconds, not both',
  )
  .refine(
    ({ muted, until, duration_seconds }) => muted || (until === undefined && duration_seconds === undefined),
    'muted: false takes neither until nor duration_seconds',
  )
  .meta({ id: 'MuteChatRequest' });
export type MuteChatBody = z.infer<typeof muteChatBody>;

export const checkContactsBody = z
  .object({ phones: boundedArray(phoneField, { min: 1, max: CONTACTS_CHECK_MAX }) })
  .meta({ id: 'CheckContactsRequest' });

export const checkedContacts = z
  .object({
    contacts: z
      .array(
        z.object({
          phone: z.string(),
          exists: z.boolean().meta({ description: 'Whether the number has an account' }),
          jid: z.string().nullable(),
          is_business: z.boolean(),
        }),
      )
      .meta({ description: 'One record for each number, in the order of the request' }),
  })
  .meta({ id: 'CheckedContacts' });
export type CheckedContacts = z.infer<typeof checkedContacts>;

export const blockedContact = z
  .object({ jid: z.string(), blocked: z.boolean() })
  .meta({ id: 'BlockedContact' });
export type BlockedContact = z.infer<typeof blockedContact>;

const before = z
  .string()
  .min(1)
  .max(CURSOR_MAX_CHARS)
  .optional()
  .meta({ description: 'The next_cursor of the previous page' });
const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'The value of before for the next page; null on the last page' });

const INSTANCE = '/v1/instances/:instanceId' as const;
const READ = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND' } as const;
const DEVICE_ERRORS = [
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_BANNED',
  'INSTANCE_HARD_PAUSED',
  'SEND_FAILED',
  'NOT_IMPLEMENTED',
] as const;
const CHANGE = { ...READ, errors: ['NOT_FOUND', ...DEVICE_ERRORS] } as const;
const CHAT = `${INSTANCE}/chats/:chatId` as const;
const ANSWER = { 200: chat };

/** Chats, as the phone shows them. */
export const chats = {
  list: route(
    { ...READ, summary: 'List chats', description: 'Chats with the latest activity come first.' },
    {
      method: 'GET',
      path: `${INSTANCE}/chats`,
      query: z.object({
        archived: z.stringbool().optional(),
        unread: z.stringbool().optional().meta({
          description: 'true: only chats with unread messages or marked as unread; false: only the others',
        }),
        label: z.string().min(1).max(16).optional().meta({ description: 'Only chats with this label_id' }),
        before,
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z.object({ data: z.array(chat), next_cursor: nextCursor }).meta({ id: 'ChatList' }),
      },
    },
  ),
  get: route(
    {
      ...READ,
      errors: ['NOT_FOUND'],
      summary: 'Read one chat',
      description: 'Takes a phone number or a JID.',
    },
    { method: 'GET', path: CHAT, responses: ANSWER },
  ),
  read: route(
    {
      ...CHANGE,
      summary: 'Mark a chat as read or unread',
      description: 'Also changes the chat on the phone. The senders of unread messages get read receipts.',
    },
    { method: 'POST', path: `${CHAT}/read`, body: readChatBody, responses: ANSWER },
  ),
  archive: route(
    { ...CHANGE, summary: 'Archive or unarchive a chat', description: 'Also changes the chat on the phone.' },
    { method: 'POST', path: `${CHAT}/archive`, body: archiveChatBody, responses: ANSWER },
  ),
  pin: route(
    {
      ...CHANGE,
      errors: [...CHANGE.errors, 'CONFLICT'],
      summary: 'Pin or unpin a chat',
      description:
        'Also changes the chat on the phone. CONFLICT when the account already has the maximum number of pinned chats.',
    },
    { method: 'POST', path: `${CHAT}/pin`, body: pinChatBody, responses: ANSWER },
  ),
  mute: route(
    {
      ...CHANGE,
      summary: 'Mute or unmute a chat',
      description: 'Also changes the chat on the phone.',
    },
    { method: 'POST', path: `${CHAT}/mute`, body: muteChatBody, responses: ANSWER },
  ),
} satisfies AppRouter;

const CONTACT = `${INSTANCE}/contacts/:contactId` as const;
const BLOCK = { ...READ, errors: ['INVALID_PHONE', 'INVALID_RECIPIENT', ...DEVICE_ERRORS] } as const;

/** People whom the phone has saved or who have written to it. */
export const contacts = {
  list: route(
    {
      ...READ,
      summary: 'List or search contacts',
      description: 'Sorted by name. A search for digits looks in phone numbers and sorts by them.',
    },
    {
      method: 'GET',
      path: `${INSTANCE}/contacts`,
      query: z.object({
        search: z
          .string()
          .trim()
          .min(1)
          .max(NAME_MAX_CHARS)
          .optional()
          .meta({ description: 'Only contacts whose name or phone number begins with this' }),
        before,
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z.object({ data: z.array(contact), next_cursor: nextCursor }).meta({ id: 'ContactList' }),
      },
    },
  ),
  check: route(
    {
      ...READ,
      errors: ['INVALID_PHONE', ...DEVICE_ERRORS],
      summary: 'Check which numbers have an account',
      description: `At most ${CONTACTS_CHECK_MAX} numbers.`,
    },
    {
      method: 'POST',
      path: `${INSTANCE}/contacts/check`,
      body: checkContactsBody,
      responses: { 200: checkedContacts },
    },
  ),
  get: route(
    {
      ...READ,
      errors: ['NOT_FOUND'],
      summary: 'Read one contact',
      description: 'Takes a phone number or a JID.',
    },
    { method: 'GET', path: CONTACT, responses: { 200: contact } },
  ),
  block: route(
    {
      ...BLOCK,
      summary: 'Block a contact',
      description: 'Also blocks the contact on the phone. Messages from a blocked contact do not arrive.',
    },
    { method: 'POST', path: `${CONTACT}/block`, body: c.noBody(), responses: { 200: blockedContact } },
  ),
  unblock: route(
    { ...BLOCK, summary: 'Unblock a contact' },
    { method: 'DELETE', path: `${CONTACT}/block`, responses: { 200: blockedContact } },
  ),
} satisfies AppRouter;
