/** Families that act on an existing message: react, edit, delete, pin. */
import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import type { Message, Phone } from '../state/model.ts';
import { authorOf, chatOf, findTarget, type Target } from '../state/recipients.ts';
import type { World } from '../state/world.ts';
import { type ContentFamily, type Entering, noWords, target } from './family.ts';

/** Tests give only the message id: it is unique within a chat. */
const phoneTarget = z.string().transform((id) => ({ id }));

/** The target message: in the chat, or a status of the other side, which is answered in private. */
function meant(world: World, from: Phone, to: string, content: Record<string, unknown>): Message | null {
  const named = content.target as Target;
  return findTarget(world, from, to, named) ?? findTarget(world, from, STATUS_BROADCAST, named);
}

const needsTarget = (world: World, entering: Entering): string | Entering => {
  const found = meant(world, entering.from, entering.to, entering.content);
  return found && !found.marks.deleted ? entering : 'message_not_found';
};

/** `{target, emoji}`; an empty emoji removes the reaction. */
export const reactionFamily: ContentFamily = {
  content: z.looseObject({ target, emoji: z.string().max(64) }),
  phoneBody: z
    .object({ message_id: phoneTarget, emoji: z.string().max(64) })
    .transform(({ message_id, emoji }) => ({ target: message_id, emoji })),
  words: (content) => content.emoji as string,
  admit: needsTarget,
  act(world, message) {
    const found = meant(world, message.from, message.to, message.content);
    if (!found) return;
    const emoji = message.content.emoji as string;
    const others = found.marks.reactions.filter((each) => each.from !== message.from.jid);
    const reactions = emoji ? [...others, { from: message.from.jid, emoji }] : others;
    found.marks = { ...found.marks, reactions };
  },
  tell(world, message, to) {
    const found = meant(world, message.from, message.to, message.content);
    if (!found) return null;
    const emoji = message.content.emoji as string;
    return {
      k: 'message',
      id: message.id,
      chat: chatOf(to.phone, message),
      from: authorOf(message),
      name: message.from.account?.pushName ?? message.from.name,
      type: 'reaction',
      content: { message_id: found.id, emoji, ...(emoji === '' ? { removed: true } : {}) },
      status: found.to === STATUS_BROADCAST ? found.id : undefined,
      at: message.at,
    };
  },
};

/** `{target, text}` or `{target, caption}`: replaces the text; the media stays. */
export const editFamily: ContentFamily = {
  content: z
    .object({ target, text: z.string().min(1).optional(), caption: z.string().optional() })
    .refine((edit) => edit.text !== undefined || edit.caption !== undefined),
  phoneBody: z
    .object({ message_id: phoneTarget, text: z.string().optional(), caption: z.string().optional() })
    .transform(({ message_id, ...words }) => ({ target: message_id, ...words })),
  words: noWords,
  admit(world, entering) {
    const found = findTarget(world, entering.from, entering.to, entering.content.target as Target);
    if (!found || found.marks.deleted) return 'message_not_found';
    return found.from === entering.from ? entering : 'not_allowed';
  },
  act(world, message) {
    const found = findTarget(world, message.from, message.to, message.content.target as Target);
    if (!found) return;
    found.content = { ...found.content, ...wordsOf(message) };
    found.marks = { ...found.marks, edited: true };
  },
  tell: (_world, message, to) => ({
    ...changeOf(message, to.phone),
    k: 'edited',
    content: wordsOf(message),
  }),
};

function wordsOf({ content }: Message): Record<string, unknown> {
  const { target: _, ...words } = content;
  return words;
}

/** `{target}`: deletes for everyone. Allowed for the author and for group admins. */
export const deleteFamily: ContentFamily = {
  content: z.object({ target }),
  phoneBody: z.object({ message_id: phoneTarget }).transform(({ message_id }) => ({ target: message_id })),
  words: noWords,
  admit(world, entering) {
    const { from, to, content } = entering;
    const found = findTarget(world, from, to, content.target as Target);
    if (!found) return 'message_not_found';
    return found.from === from || isAdmin(world, to, from) ? entering : 'not_allowed';
  },
  act(world, message) {
    const found = findTarget(world, message.from, message.to, message.content.target as Target);
    if (found) found.marks = { ...found.marks, deleted: true };
  },
  tell: (_world, message, to) => ({ ...changeOf(message, to.phone), k: 'deleted' }),
};

/** `{target, pin, duration_s}`: in groups only for admins. Instances are not told. */
export const pinFamily: ContentFamily = {
  content: z.object({ target, pin: z.boolean(), duration_s: z.int().min(0).default(0) }),
  phoneBody: z
    .object({ message_id: phoneTarget, pin: z.boolean().default(true) })
    .transform(({ message_id, pin }) => ({ target: message_id, pin, duration_s: 0 })),
  words: noWords,
  admit(world, entering) {
    const { from, to, content } = entering;
    const found = findTarget(world, from, to, content.target as Target);
    if (!found || found.marks.deleted) return 'message_not_found';
    return !isGroupJid(to) || isAdmin(world, to, from) ? entering : 'not_admin';
  },
  act(world, message) {
    const found = findTarget(world, message.from, message.to, message.content.target as Target);
    if (found) found.marks = { ...found.marks, pinned: message.content.pin === true };
  },
  tell: () => null,
};

function isAdmin(world: World, chat: string, phone: Phone): boolean {
  return world.groups.get(chat)?.admins.has(phone) ?? false;
}

function changeOf(message: Message, to: Phone) {
  return {
    id: (message.content.target as Target).id,
    env: message.id,
    chat: chatOf(to, message),
    from: authorOf(message),
    at: message.at,
  };
}
