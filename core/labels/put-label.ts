import { apiError } from '@posthorn/contract/api-error.ts';
import type { LabelledChat, LabelledMessage } from '@posthorn/contract/messaging/labels.ts';
import { chatJidOf } from '../chats/chat-jid.ts';
import { wireTarget } from '../content/target.ts';
import { readKnownJid } from '../lids/read-phones.ts';
import { findReferenced } from '../messages/find-referenced.ts';
import type { NetworkActions } from '../network/actions.ts';
import { askForChange, type Refusals } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import type { LabelInput } from './change-label.ts';
import { requireLabel } from './list-labels.ts';
import { fileByMessageId, type LabelBearer, type LabelScope, lockLabels, storeLink } from './store-label.ts';

const REFUSALS: Refusals = {
  label_not_found: () => apiError('NOT_FOUND'),
  message_not_found: () => apiError('MESSAGE_NOT_FOUND'),
};

/**
 * Puts a label on a chat, or takes it off, here and on the devices (CHT-2). Throws 404 NOT_FOUND without the label, 400
 * for an id that names no chat, and as `requestOwner` does.
 */
export async function labelChat(
  deps: RpcDeps,
  input: LabelInput & { chatId: string; associated: boolean },
): Promise<LabelledChat> {
  const { labelId, associated } = input;
  const scope = await requireCapable(deps, input, 'label_chat');
  const chat = await chatJidOf(deps.db, scope.instanceId, input.chatId);
  await requireLabel(deps.db, scope.instanceId, labelId);
  const args = { label_id: labelId, chat, associated };
  const bearer = { labelId, chat, messageKey: '' };
  const stored = await put(deps, scope, input, { op: 'label_chat', args, bearer });
  return { label_id: labelId, chat: stored.chat, associated };
}

/** The same for a message, by its UUID or network id. Throws 404 MESSAGE_NOT_FOUND for one that is not there. */
export async function labelMessage(
  deps: RpcDeps,
  input: LabelInput & { messageId: string; associated: boolean },
): Promise<LabelledMessage> {
  const { labelId, associated } = input;
  const scope = await requireCapable(deps, input, 'label_message');
  const message = await findReferenced(deps.db, scope.instanceId, input.messageId);
  if (!message) throw apiError('MESSAGE_NOT_FOUND');
  await requireLabel(deps.db, scope.instanceId, labelId);
  const chat = message.chatJid;
  const args = { label_id: labelId, chat, target: wireTarget(message), associated };
  await put(deps, scope, input, {
    op: 'label_message',
    args,
    bearer: { labelId, chat, messageKey: message.id, networkId: message.networkId },
  });
  return { label_id: labelId, message_id: message.id, associated };
}

/** Gives what it stored: while the network is asked, the chat may move to the phone's address. */
async function put<Op extends 'label_chat' | 'label_message'>(
  deps: RpcDeps,
  scope: LabelScope,
  { principal, instanceId, signal, associated }: LabelInput & { associated: boolean },
  { op, args, bearer }: { op: Op; args: NetworkActions[Op]['args']; bearer: LabelBearer },
): Promise<LabelBearer> {
  const revision = await askForChange(deps, { principal, instanceId, op, args, signal }, REFUSALS);
  return deps.db.transaction(async (sql) => {
    await lockLabels(sql, scope.instanceId);
    const chat = await readKnownJid(sql, scope.instanceId, bearer.chat);
    const stored = { ...bearer, chat };
    await fileByMessageId(sql, scope, stored);
    await storeLink(sql, scope, stored, associated, { revision, now: deps.clock.now(), isTold: false });
    return stored;
  });
}
