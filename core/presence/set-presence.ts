import { apiError } from '@posthorn/contract/api-error.ts';
import { parseChat } from '@posthorn/contract/jid.ts';
import type { PresenceBody, PresenceSet, PresenceSubscribed } from '@posthorn/contract/messaging/presence.ts';
import { z } from 'zod/v4';
import type { Principal } from '../access/principal.ts';
import type { NetworkActions } from '../network/actions.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';

interface PresenceCaller {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

const REFUSALS = { chat_not_found: () => apiError('NOT_FOUND', { message: 'chat not found' }) };

/** Tells the network whether the account is online, or what it does in a chat. Throws as askNetwork does. */
export async function setPresence(
  deps: RpcDeps,
  input: PresenceCaller & { body: PresenceBody },
): Promise<PresenceSet> {
  const { body, ...caller } = input;
  const { state } = body;
  await requireCapable(deps, caller, 'presence_set');
  const chat = body.chat_jid === undefined ? null : jidOf(body.chat_jid);
  // The contract has paired each state with a chat, or with none.
  const args = (chat === null ? { state } : { state, chat }) as NetworkActions['presence_set']['args'];
  await askNetwork(deps, { ...caller, op: 'presence_set', args }, z.unknown(), REFUSALS);
  return { state, chat_jid: chat };
}

/**
 * Has the network tell of somebody's presence, until the session ends. 400 INVALID_PHONE or INVALID_RECIPIENT; else as
 * askNetwork throws.
 */
export async function subscribePresence(
  deps: RpcDeps,
  input: PresenceCaller & { personJid: string },
): Promise<PresenceSubscribed> {
  const { personJid, ...caller } = input;
  await requireCapable(deps, caller, 'presence_subscribe');
  const jid = jidOf(personJid);
  await askNetwork(deps, { ...caller, op: 'presence_subscribe', args: { jid } }, z.unknown(), REFUSALS);
  return { jid, subscribed: true };
}

function jidOf(text: string): string {
  const parsed = parseChat(text);
  if ('error' in parsed) throw apiError(parsed.error);
  return parsed.jid;
}
