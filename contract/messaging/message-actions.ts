/** The actions that the network answers at once: pin, poll vote, star. */

import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { chatRef, messageRef, uuid } from '../fields.ts';
import { isGroupJid } from '../jid.ts';
import { FIELD_MAX_CHARS, POLL_OPTIONS_MAX } from '../limits.ts';

const chatJid = chatRef.meta({ description: 'The JID of the chat that holds the message' });
const senderJid = z
  .string()
  .regex(/^\d{5,20}@(s\.whatsapp\.net|lid)$/, 'must be an individual JID')
  .optional()
  .meta({
    description: 'The author of the message. Default in a one-to-one chat: the contact; required in groups',
  });

/** In a group the chat does not say who wrote the message. */
function needsSender(field: string) {
  return (body: Record<string, unknown>, context: z.RefinementCtx): void => {
    if (body[field] !== undefined || !isGroupJid(String(body.chat_jid))) return;
    context.addIssue({
      code: 'custom',
      path: [field],
      message: 'is required in groups',
      params: { code: 'MISSING_FIELD' },
      input: undefined,
    });
  };
}

export const PIN_DURATIONS_S = [0, 86_400, 604_800, 2_592_000] as const;
/** Stands for any other value, which an unpin ignores and a pin refuses. */
const WRONG_DURATION = -1;

export const pinBody = z
  .object({
    chat_jid: chatJid,
    message_id: messageRef,
    target_sender_jid: senderJid,
    target_from_me: z.boolean().default(false),
    pin: z.boolean().meta({ description: 'true pins the message for everyone, false unpins it' }),
    duration_seconds: z
      .literal(PIN_DURATIONS_S)
      // Judged below, where it is known whether it counts at all.
      .catch(WRONG_DURATION as 0)
      .default(0)
      .meta({
        description:
          'The duration in seconds; 0 takes the default of the network, 24 hours. Ignored on unpin',
      }),
  })
  .superRefine(needsSender('target_sender_jid'))
  .superRefine(({ pin, duration_seconds }, context) => {
    if (!pin || (duration_seconds as number) !== WRONG_DURATION) return;
    const message = `must be one of ${PIN_DURATIONS_S.join(', ')}`;
    context.addIssue({ code: 'custom', path: ['duration_seconds'], message, input: duration_seconds });
  })
  .meta({ id: 'PinRequest' });
export type PinBody = z.infer<typeof pinBody>;

export const pinDone = z
  .object({
    instance_id: uuid,
    chat_jid: z.string(),
    target_message_id: z.string(),
    action: z.enum(['pinned', 'unpinned']),
    envelope_message_id: z
      .string()
      .meta({ description: 'The network id of the message that carries the pin' }),
  })
  .meta({ id: 'PinDone' });
export type PinDone = z.infer<typeof pinDone>;

export const voteBody = z
  .object({
    chat_jid: chatJid,
    poll_message_id: messageRef,
    poll_sender_jid: senderJid,
    poll_from_me: z.boolean().default(false),
    selected_options: boundedArray(z.string().max(FIELD_MAX_CHARS), { max: POLL_OPTIONS_MAX }).meta({
      description: 'The exact names of the chosen options; an empty list clears the vote',
    }),
  })
  .superRefine(needsSender('poll_sender_jid'))
  .meta({ id: 'PollVoteRequest' });
export type VoteBody = z.infer<typeof voteBody>;

export const voteDone = z
  .object({
    instance_id: uuid,
    chat_jid: z.string(),
    poll_message_id: z.string(),
    selected_options: z.array(z.string()),
    envelope_message_id: z.string(),
  })
  .meta({ id: 'PollVoteDone' });
export type VoteDone = z.infer<typeof voteDone>;

export const starBody = z
  .object({
    chat_jid: chatJid,
    message_id: messageRef,
    sender_jid: senderJid,
    from_me: z.boolean().default(false),
    starred: z.boolean(),
  })
  .superRefine(needsSender('sender_jid'))
  .meta({ id: 'StarRequest' });
export type StarBody = z.infer<typeof starBody>;

export const starDone = z
  .object({
    instance_id: uuid,
    chat_jid: z.string(),
    message_id: z.string(),
    action: z.enum(['starred', 'unstarred']),
  })
  .meta({ id: 'StarDone' });
export type StarDone = z.infer<typeof starDone>;
