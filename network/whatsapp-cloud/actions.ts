/** Questions that this network answers; LACKS has the others. */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { NetworkActions } from '@posthorn/core/network/actions.ts';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { z } from 'zod/v4';
import { recipientOf } from './addresses.ts';
import type { LACKS } from './lacks.ts';
import { ask, type CloudContext, reasonOf, sendErrorOf } from './session-context.ts';
import { createTemplate, deleteTemplate, listTemplates } from './templates.ts';
import { verdictOf } from './verdicts.ts';

type Lacked = (typeof LACKS)[number];
export type Answered = Exclude<keyof NetworkActions, Lacked>;

export const ACTIONS: {
  readonly [Op in Answered]: (
    session: CloudContext,
    args: NetworkActions[Op]['args'],
  ) => Promise<NetworkActions[Op]['answer']>;
} = {
  async chat_read(session, { chat, read, message_ids }) {
    // Nothing here makes a chat unread again.
    if (!read) throw new SendRefused('unsupported_call');
    await markRead(session, chat, message_ids);
    return { revision: revisionOf(session) };
  },
  async contact_block(session, { jid, blocked }) {
    await block(session, jid, blocked);
    const revision = revisionOf(session);
    const at = session.deps.clock.now();
    await session.sink.facts([{ kind: 'blocked', revision, jid, blocked, at }]);
    return { revision };
  },
  async presence_set(session, args) {
    if (!('chat' in args) || args.state !== 'composing') throw new SendRefused('unsupported_call');
    const received = session.lastReceived.get(args.chat);
    if (received === undefined) throw new SendRefused('chat_not_found');
    await typing(session, args.chat);
    return {};
  },
  template_list: listTemplates,
  template_create: createTemplate,
  template_delete: deleteTemplate,
};

const blocks = z.looseObject({
  block_users: z.looseObject({
    failed_users: z.array(z.looseObject({ errors: z.array(z.looseObject({ code: z.number() })).catch([]) })),
  }),
});

/** Blocks somebody, or no longer. The network's answer says in a list whom it has not blocked. */
async function block(session: CloudContext, jid: Jid, blocked: boolean): Promise<void> {
  const recipient = recipientOf(jid);
  const user = 'to' in recipient ? { user: recipient.to } : { user_id: recipient.recipient };
  const body = { messaging_product: 'whatsapp', block_users: [user] };
  const method = blocked ? 'POST' : 'DELETE';
  const path = `/${session.credentials.phone_number_id}/block_users`;
  const answer = await ask(session, { method, path, body }).catch((cause) => {
    // A token that may not block anybody may still send.
    throw reasonOf(cause) === NOT_PERMITTED
      ? new SendRefused(NOT_PERMITTED)
      : sendErrorOf(session, jid, cause);
  });
  const failed = blocks.safeParse(answer).data?.block_users.failed_users[0];
  if (!failed) return;
  const [error] = failed.errors;
  throw new SendRefused(error ? verdictOf(error.code).reason : 'refused_by_network');
}

const NOT_PERMITTED = 'permission_missing';

/** So many of the newest messages are tried: the network may not know those from when the number was on a phone. */
const MARKS_MAX = 5;

/**
 * Marks the newest message, and so all that came before it: each mark is a request, and a hundred would last longer than
 * a caller waits. Ids that the network does not know are passed over.
 */
export async function markRead(session: CloudContext, chat: string, ids: readonly string[]): Promise<void> {
  for (const id of ids.slice(-MARKS_MAX).toReversed())
    if (await tellRead(session, chat, { message_id: id })) return;
}

/** Shown for up to 25 s, and only as an answer: it also marks the last received message as read. */
async function typing(session: CloudContext, chat: string): Promise<void> {
  const id = session.lastReceived.get(chat);
  if (id !== undefined) await tellRead(session, chat, { message_id: id, typing_indicator: { type: 'text' } });
}

/** False for an id that the network does not know. */
async function tellRead(
  session: CloudContext,
  chat: string,
  more: Record<string, unknown>,
): Promise<boolean> {
  const body = { messaging_product: 'whatsapp', status: 'read', ...more };
  const path = `/${session.credentials.phone_number_id}/messages`;
  try {
    await asked(session, chat, { method: 'POST', path, body });
    return true;
  } catch (err) {
    if (err instanceof SendRefused) return false;
    throw err;
  }
}

async function asked(
  session: CloudContext,
  chat: string,
  question: Parameters<typeof ask>[1],
): Promise<unknown> {
  return ask(session, question).catch((cause) => {
    throw sendErrorOf(session, chat, cause);
  });
}

/** The account has no count of its changes; ours grows with time. */
function revisionOf({ deps }: CloudContext): number {
  return deps.clock.now().getTime();
}
