import { apiError } from '@posthorn/contract/api-error.ts';
import type { GroupInvite } from '@posthorn/contract/messaging/groups.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller, requireGroup } from './ask-group.ts';

/** Before the code, in the link that people share. */
const LINK = 'https://chat.whatsapp.com/';
const CODE = /^[A-Za-z0-9_-]{6,64}$/;

/** The group's invite link; `revoke` voids it and gives the new one. 403 FORBIDDEN unless the instance is an admin. */
export async function readInvite(
  deps: RpcDeps,
  input: GroupCaller & { groupJid: string; revoke: boolean },
): Promise<GroupInvite> {
  const { groupJid, revoke, ...caller } = input;
  const op = revoke ? 'group_revoke_invite' : 'group_invite';
  await requireGroup(deps, caller, groupJid, op);
  const answer = (await askGroup(deps, caller, op, { group: groupJid })) as { code?: unknown } | null;
  const code = codeIn(String(answer?.code ?? ''));
  if (code === null) throw apiError('SEND_FAILED', { cause: 'the network answered without a code' });
  return { jid: groupJid, code, link: `${LINK}${code}` };
}

/** The code that somebody gives, bare or in a link; null for a text that is neither. */
export function codeIn(invite: string): string | null {
  const text = invite.trim();
  const code = text.startsWith(LINK) ? text.slice(LINK.length) : text;
  return CODE.test(code) ? code : null;
}
