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
  preview: z
    .string()
    .meta({ description: 'The beginning of its text or caption; empty for other types and when deleted' }),
  timestamp,
});

export const chat = z
  .object({
    chat_jid: z.string(),
    type: z.enum(['user', 'group']),
    phone: z.string().meta({ description: 'Empty for groups and anonymous ids' }),
    name: z.string().meta({ description: 'As the phone saved it, else as the other side calls itself' }),
    unread_count: z.int().meta({ description: 'Received messages that nobody has read here' }),
    marked_unread: z.boolean().meta({ description: 'Marked as unread by hand' }),
    archived: z.boolean(),
    pinned: z.boolean(),
    muted: z.boolean(),
    muted_until: timestamp.nullable().meta({ description: 'Null when not muted, or muted without an end' }),
    window_until: timestamp.nullable().meta({
      description:
        'On whatsapp-cloud: until when anything may be sent to this chat, 24 hours after the other side last wrote; null when only an approved template may, and on other networks',
    }),
    labels: z.array(z.string()).meta({ description: 'label_ids' }),
    last_message: lastMessage.nullable(),
    updated_at: timestamp,
  })
  .meta({ id: 'Chat' });
export type Chat = z.infer<typeof chat>;

export const contact = z
  .object({
    jid: z.string(),
    phone: z.string().meta({ description: 'Empty for anonymous ids' }),
    name: z.string().meta({ description: 'As the phone saved it; empty when it is not saved' }),
    push_name: z.string().meta({ description: 'As the contact calls itself' }),
    saved: z.boolean(),
    blocked: z.boolean(),
    updated_at: timestamp,
  })
  .meta({ id: 'Contact' });
export type Contact = z.infer<typeof contact>;

export const readChatBody = z
  .object({ read: z.boolean().default(true).meta({ description: 'false marks it as unread' }) })
  .meta({ id: 'ReadChatRequest' });
export const archiveChatBody = z.object({ archived: z.boolean() }).meta({ id: 'ArchiveChatRequest' });
export const pinChatBody = z.object({ pinned: z.boolean() }).meta({ id: 'PinChatRequest' });

const YEAR_S = 366 * 86_400;

export const muteChatBody = z
  .object({
    muted: z.boolean().default(true),
    until: z.iso
      .datetime({ offset: true, error: 'must be an RFC 3339 time' })
      .optional()
      .meta({ description: 'In the future. Without it and duration_seconds it is muted without an end' }),
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
          exists: z.boolean().meta({ description: 'The number has an account' }),
          jid: z.string().nullable(),
          is_business: z.boolean(),
        }),
      )
      .meta({ description: 'In the order asked' }),
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
  .meta({ description: 'next_cursor of the page that this one follows' });
const nextCursor = z.string().nullable().meta({ description: 'Goes on with before; null at the end' });

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
    { ...READ, summary: 'List chats', description: 'Those with the latest activity first.' },
    {
      method: 'GET',
      path: `${INSTANCE}/chats`,
      query: z.object({
        archived: z.stringbool().optional(),
        unread: z.stringbool().optional().meta({ description: 'With unread messages, or marked as unread' }),
        label: z
          .string()
          .min(1)
          .max(16)
          .optional()
          .meta({ description: 'Only chats that bear this label_id' }),
        before,
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z.object({ data: z.array(chat), next_cursor: nextCursor }).meta({ id: 'ChatList' }),
      },
    },
  ),
  get: route(
    { ...READ, errors: ['NOT_FOUND'], summary: 'Read one chat', description: 'By phone number or JID.' },
    { method: 'GET', path: CHAT, responses: ANSWER },
  ),
  read: route(
    {
      ...CHANGE,
      summary: 'Mark a chat as read, or as unread',
      description: 'Also on the phone. The senders of what was unread learn that it was read.',
    },
    { method: 'POST', path: `${CHAT}/read`, body: readChatBody, responses: ANSWER },
  ),
  archive: route(
    { ...CHANGE, summary: 'Archive a chat, or bring it back', description: 'Also on the phone.' },
    { method: 'POST', path: `${CHAT}/archive`, body: archiveChatBody, responses: ANSWER },
  ),
  pin: route(
    {
      ...CHANGE,
      errors: [...CHANGE.errors, 'CONFLICT'],
      summary: 'Pin a chat to the top, or unpin it',
      description: 'Also on the phone. CONFLICT when it has as many pinned chats as it takes.',
    },
    { method: 'POST', path: `${CHAT}/pin`, body: pinChatBody, responses: ANSWER },
  ),
  mute: route(
    {
      ...CHANGE,
      summary: 'Mute a chat for a time or without an end, or unmute it',
      description: 'Also on the phone.',
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
      summary: 'List contacts, or find them',
      description: 'By name. A search by digits is by phone number and goes by that.',
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
          .meta({ description: 'How the name or the phone number begins' }),
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
      summary: 'Find out which numbers have an account',
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
    { ...READ, errors: ['NOT_FOUND'], summary: 'Read one contact', description: 'By phone number or JID.' },
    { method: 'GET', path: CONTACT, responses: { 200: contact } },
  ),
  block: route(
    {
      ...BLOCK,
      summary: 'Block a contact',
      description: 'Also on the phone. Nothing of theirs arrives any more.',
    },
    { method: 'POST', path: `${CONTACT}/block`, body: c.noBody(), responses: { 200: blockedContact } },
  ),
  unblock: route(
    { ...BLOCK, summary: 'Unblock a contact' },
    { method: 'DELETE', path: `${CONTACT}/block`, responses: { 200: blockedContact } },
  ),
} satisfies AppRouter;
