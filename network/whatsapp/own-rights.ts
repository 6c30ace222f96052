/** The account's own rights in a group: the network cannot judge what is encrypted, and other apps pass over what is not allowed. */
import { ask } from './actions/action.ts';
import { nameOf, ownJid, type WhatsAppContext } from './session-context.ts';

/** Whether the account is an admin of the group. Throws SendRefused for a group that it is not in, SendUnavailable without an answer. */
export async function isOwnAdmin(session: WhatsAppContext, group: string): Promise<boolean> {
  const { participants } = await ask(session, (socket) => socket.groupMetadata(group), {
    403: 'group_not_found',
    404: 'group_not_found',
  });
  for (const { id, phoneNumber, admin } of participants ?? []) {
    if (admin !== 'admin' && admin !== 'superadmin') continue;
    if ((await nameOf(session, id, phoneNumber)) === ownJid(session)) return true;
  }
  return false;
}
