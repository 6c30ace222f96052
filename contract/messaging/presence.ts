import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { chatRef, saysExactly } from '../fields.ts';
import { c, NETWORK_ERRORS, route } from '../route-meta.ts';

const ONLINE = ['available', 'unavailable'] as const;
const IN_CHAT = ['composing', 'recording', 'paused'] as const;

export const presenceBody = z
  .object({
    state: z.enum([...ONLINE, ...IN_CHAT]).meta({
      description:
        'available and unavailable apply to the account; composing, recording and paused to a chat',
    }),
    chat_jid: chatRef.optional(),
  })
  .superRefine(({ state, chat_jid }, context) => {
    const isOfAccount = ONLINE.some((one) => one === state);
    if (context.issues.length > 0 || isOfAccount !== (chat_jid !== undefined)) return;
    const says = isOfAccount
      ? saysExactly(`chat_jid: is not taken with ${state}`)
      : saysExactly('chat_jid: is required', 'MISSING_FIELD');
    context.addIssue({ code: 'custom', input: chat_jid, ...says });
  })
  .meta({ id: 'PresenceRequest' });
export type PresenceBody = z.infer<typeof presenceBody>;

export const presenceSet = z
  .object({ state: z.enum([...ONLINE, ...IN_CHAT]), chat_jid: z.string().nullable() })
  .meta({ id: 'PresenceSet' });
export type PresenceSet = z.infer<typeof presenceSet>;

export const presenceSubscribed = z
  .object({ jid: z.string(), subscribed: z.literal(true) })
  .meta({ id: 'PresenceSubscribed' });
export type PresenceSubscribed = z.infer<typeof presenceSubscribed>;

const PRESENCE = '/v1/instances/:instanceId/presence' as const;
const ALL = {
  auth: 'any',
  access: 'all',
  notFound: 'INSTANCE_NOT_FOUND',
  errors: [...NETWORK_ERRORS, 'NOT_FOUND', 'INVALID_PHONE', 'INVALID_RECIPIENT'],
} as const;

/** Presence: online contacts and typing. */
export const presence = {
  set: route(
    { ...ALL, summary: 'Set the presence of the account, or its activity in a chat' },
    { method: 'POST', path: PRESENCE, body: presenceBody, responses: { 200: presenceSet } },
  ),
  subscribe: route(
    {
      ...ALL,
      summary: 'Subscribe to the presence of a contact',
      description: 'Events presence.updated report it until the instance disconnects.',
    },
    {
      method: 'POST',
      path: `${PRESENCE}/:personJid/subscribe`,
      body: c.noBody(),
      responses: { 200: presenceSubscribed },
    },
  ),
} satisfies AppRouter;
