/** Polls and their votes. A vote names options; casting or reading one requires the poll's secret. */
import { z } from 'zod/v4';
import type { Message } from '../state/model.ts';
import { authorOf, chatOf, findTarget, type Target } from '../state/recipients.ts';
import type { World } from '../state/world.ts';
import { type ContentFamily, type Entering, noWords, target } from './family.ts';

const poll = z.object({
  question: z.string().min(1),
  options: z.array(z.string().min(1)).min(2).max(12),
  max_selections: z.int().min(1).default(1),
});

export const pollFamily: ContentFamily = {
  content: poll,
  phoneBody: poll,
  words: (content) => content.question as string,
};

const vote = z.object({ target, options: z.array(z.string()) });

/** A voter's latest vote replaces earlier ones; an empty list of options removes it. */
export const voteFamily: ContentFamily = {
  content: vote,
  phoneBody: z
    .object({ message_id: z.string(), options: z.array(z.string()) })
    .transform(({ message_id, options }) => ({ target: { id: message_id }, options })),
  words: noWords,
  admit: (world, entering) => refuseVote(world, entering) ?? entering,
  act(world, message) {
    const asked = pollOf(world, message);
    if (!asked) return;
    const options = message.content.options as string[];
    const others = asked.marks.votes.filter((cast) => cast.from !== message.from.jid);
    const votes = options.length > 0 ? [...others, { from: message.from.jid, options }] : others;
    asked.marks = { ...asked.marks, votes };
  },
  tell(world, message, to) {
    const asked = pollOf(world, message);
    // Without the secret the vote is unreadable, and the device drops it.
    if (!asked || !hasSecret(to.secretsSince, asked)) return null;
    return {
      k: 'message',
      id: message.id,
      chat: chatOf(to.phone, message),
      from: authorOf(message),
      name: message.from.account?.pushName ?? message.from.name,
      type: 'poll_vote',
      content: { poll_message_id: asked.id, selected_options: message.content.options },
      at: message.at,
    };
  },
};

export function hasSecret(since: number, asked: Message): boolean {
  return asked.at >= since;
}

function pollOf(world: World, vote: Message): Message | null {
  const found = findTarget(world, vote.from, chatOfVote(vote), vote.content.target as Target);
  return found?.type === 'poll' ? found : null;
}

function chatOfVote(vote: Pick<Message, 'to'>): string {
  return vote.to;
}

function refuseVote(world: World, { from, to, content }: Entering): string | null {
  const asked = findTarget(world, from, to, content.target as Target);
  if (asked?.type !== 'poll' || asked.marks.deleted) return 'message_not_found';
  if (from.account && !hasSecret(from.account.secretsSince, asked)) return 'poll_secret_missing';
  const options = content.options as string[];
  const known = asked.content.options as string[];
  if (options.some((option) => !known.includes(option))) return 'invalid_option';
  const most = asked.content.max_selections as number;
  return new Set(options).size > most ? 'too_many_options' : null;
}
