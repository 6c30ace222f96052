import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { isGroupJid } from '@posthorn/contract/jid.ts';
import type {
  PinBody,
  PinDone,
  StarBody,
  StarDone,
  VoteBody,
  VoteDone,
} from '@posthorn/contract/messaging/message-actions.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { jidOf } from '../content/rule.ts';
import { wireTarget } from '../content/target.ts';
import { readKnownJid } from '../lids/read-phones.ts';
import type { NetworkActions } from '../network/actions.ts';
import type { MessageTarget } from '../network/messages.ts';
import { isUuid } from '../platform/ids.ts';
import { type RpcDeps, RpcRefused, requestOwner } from '../rpc/request-owner.ts';
import { findReferenced } from './find-referenced.ts';

export interface ActionInput<Body> {
  principal: Principal;
  instanceId: string;
  body: Body;
  signal: AbortSignal;
}

/** Pins or unpins a message for all (SND-41). 403 FORBIDDEN when the instance is no admin of the group. */
export async function pinMessage(deps: RpcDeps, input: ActionInput<PinBody>): Promise<PinDone> {
  const { body, instanceId } = input;
  const chat = await readKnownJid(deps.db, instanceId, jidOf(body.chat_jid));
  const target = await targetOf(deps, input, chat, {
    ref: body.message_id,
    sender: body.target_sender_jid,
    fromMe: body.target_from_me,
  });
  const args = { chat, target, pin: body.pin, duration_s: body.pin ? body.duration_seconds : 0 };
  const { envelope_id } = (await act(deps, input, 'pin', args)) as NetworkActions['pin']['answer'];
  return {
    instance_id: instanceId,
    chat_jid: chat,
    target_message_id: body.message_id,
    action: body.pin ? 'pinned' : 'unpinned',
    envelope_message_id: envelope_id,
  };
}

/** Votes in a poll, or clears the vote. 404 MESSAGE_NOT_FOUND when the instance lacks the poll's secret. */
export async function votePoll(deps: RpcDeps, input: ActionInput<VoteBody>): Promise<VoteDone> {
  const { body, instanceId } = input;
  const chat = await readKnownJid(deps.db, instanceId, jidOf(body.chat_jid));
  const target = await targetOf(deps, input, chat, {
    ref: body.poll_message_id,
    sender: body.poll_sender_jid,
    fromMe: body.poll_from_me,
  });
  const args = { chat, target, options: body.selected_options };
  const { envelope_id } = (await act(
    deps,
    input,
    'poll_vote',
    args,
  )) as NetworkActions['poll_vote']['answer'];
  return {
    instance_id: instanceId,
    chat_jid: chat,
    poll_message_id: body.poll_message_id,
    selected_options: body.selected_options,
    envelope_message_id: envelope_id,
  };
}

/** Stars a message for this account alone; message.starred follows when the change has synced back. */
export async function starMessage(deps: RpcDeps, input: ActionInput<StarBody>): Promise<StarDone> {
  const { body, instanceId } = input;
  const chat = await readKnownJid(deps.db, instanceId, jidOf(body.chat_jid));
  const target = await targetOf(deps, input, chat, {
    ref: body.message_id,
    sender: body.sender_jid,
    fromMe: body.from_me,
  });
  await act(deps, input, 'star', { chat, target, starred: body.starred });
  return {
    instance_id: instanceId,
    chat_jid: chat,
    message_id: body.message_id,
    action: body.starred ? 'starred' : 'unstarred',
  };
}

/**
 * How the network names the message: from our history when it is there, else as the caller says. UUIDs are only
 * ours, so an unknown one names nothing.
 */
async function targetOf(
  deps: RpcDeps,
  { principal, instanceId }: ActionInput<unknown>,
  chat: string,
  given: { ref: string; sender: string | undefined; fromMe: boolean },
): Promise<MessageTarget> {
  await requireInstance(deps.db, principal, instanceId);
  const known = await findReferenced(deps.db, instanceId, given.ref, chat);
  if (known && known.chatJid === chat) return wireTarget(known);
  if (known || isUuid(given.ref)) throw apiError('MESSAGE_NOT_FOUND');
  const sender = given.sender ?? (isGroupJid(chat) || given.fromMe ? undefined : chat);
  return { id: given.ref, from_me: given.fromMe, ...(sender ? { sender } : {}) };
}

const REFUSALS: Record<string, () => ApiError> = {
  message_not_found: () => apiError('MESSAGE_NOT_FOUND'),
  poll_secret_missing: () =>
    apiError('MESSAGE_NOT_FOUND', { message: 'this instance does not have the secret of the poll' }),
  invalid_option: () =>
    apiError('BAD_REQUEST', { message: 'selected_options: must be exact names of options of the poll' }),
  too_many_options: () => apiError('BAD_REQUEST', { message: 'selected_options: more than the poll allows' }),
  not_admin: () => apiError('FORBIDDEN', { message: 'the instance is not an admin of the group' }),
};

async function act<Op extends 'pin' | 'poll_vote' | 'star'>(
  deps: RpcDeps,
  { principal, instanceId, signal }: ActionInput<unknown>,
  op: Op,
  args: NetworkActions[Op]['args'],
): Promise<unknown> {
  try {
    return await requestOwner(deps, { principal, instanceId, op, args, signal });
  } catch (cause) {
    if (!(cause instanceof RpcRefused)) throw cause;
    throw REFUSALS[cause.reason]?.() ?? apiError('SEND_FAILED', { cause });
  }
}
