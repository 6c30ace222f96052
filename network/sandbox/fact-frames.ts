/**
 * The parts of frames about chats, contacts, labels, groups and presence: the wire format of
 * `core/network/facts.ts`.
 */
import { z } from 'zod/v4';

const jid = z.string().max(64);
const name = z.string().max(1000);
const target = z.object({ id: z.string(), from_me: z.boolean().optional(), sender: jid.optional() });
const revision = z.int();
const participant = z.object({ jid, role: z.enum(['member', 'admin', 'superadmin']) });

const group = z.object({
  jid,
  name,
  description: z.string(),
  owner: jid.nullable(),
  created_at: z.number().nullable(),
  announce: z.boolean(),
  locked: z.boolean(),
  participants: z.array(participant),
});

export const factBody = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('label'),
    revision,
    labelId: z.string().max(16),
    name,
    color: z.int(),
    deleted: z.boolean(),
  }),
  z.object({
    kind: z.literal('label_chat'),
    revision,
    labelId: z.string().max(16),
    chat: jid,
    associated: z.boolean(),
  }),
  z.object({
    kind: z.literal('label_message'),
    revision,
    labelId: z.string().max(16),
    chat: jid,
    target,
    associated: z.boolean(),
  }),
  z.object({
    kind: z.literal('chat'),
    revision,
    chat: jid,
    archived: z.boolean().optional(),
    pinned: z.boolean().optional(),
    mutedUntil: z.number().nullable().optional(),
    read: z.boolean().optional(),
  }),
  z.object({ kind: z.literal('contact'), revision, jid, name }),
  z.object({ kind: z.literal('blocked'), revision, jid, blocked: z.boolean() }),
  z.object({ kind: z.literal('group'), group }),
  z.object({
    kind: z.literal('group_changed'),
    chat: jid,
    by: jid.nullable(),
    name: name.optional(),
    description: z.string().optional(),
    announce: z.boolean().optional(),
    locked: z.boolean().optional(),
  }),
  z.object({
    kind: z.literal('group_participants'),
    chat: jid,
    by: jid.nullable(),
    action: z.enum(['add', 'remove', 'promote', 'demote']),
    participants: z.array(jid),
  }),
  z.object({ kind: z.literal('lid'), lid: jid, phone: z.string() }),
  z.object({
    kind: z.literal('call'),
    callId: z.string().max(64),
    from: jid,
    video: z.boolean(),
    group: jid.nullable(),
  }),
]);
export type FactBody = z.infer<typeof factBody>;

const historyMessage = z.object({
  id: z.string(),
  chat: jid,
  from: jid,
  from_me: z.boolean(),
  name: z.string(),
  type: z.string(),
  content: z.record(z.string(), z.unknown()),
  quoted: z.string().optional(),
  status: z.enum(['sent', 'delivered', 'read', 'played']).optional(),
  at: z.number(),
});

export const historyBody = z.object({
  chats: z.array(
    z.object({
      chat: jid,
      name,
      unreadCount: z.int(),
      archived: z.boolean(),
      pinned: z.boolean(),
      mutedUntil: z.number().nullable(),
    }),
  ),
  contacts: z.array(z.object({ jid, name, pushName: name })),
  lids: z.array(z.object({ lid: jid, phone: z.string() })),
  messages: z.array(historyMessage),
  position: z.int().min(0),
  progress: z.number(),
  isLast: z.boolean(),
});
export type HistoryBody = z.infer<typeof historyBody>;

export const presenceBody = z.object({
  jid,
  chat: jid.nullable(),
  state: z.enum(['available', 'unavailable', 'composing', 'recording', 'paused']),
  last_seen: z.number().nullable(),
  at: z.number(),
});
export type PresenceBody = z.infer<typeof presenceBody>;
