/** Rights in a group: the network cannot judge what is encrypted, and other apps pass over what is not allowed. */
import { ask } from './actions/action.ts';
import type { CachedGroup } from './group-cache.ts';
import { nameOf, ownJid, type WhatsAppContext } from './session-context.ts';

/**
 * Whether the account is an admin of the group. Throws SendRefused for a group that it is not in, SendUnavailable
 * without an answer.
 */
export async function isOwnAdmin(session: WhatsAppContext, group: string): Promise<boolean> {
  const known = await ask(session, () => session.groups.read(group), {
    403: 'group_not_found',
    404: 'group_not_found',
  });
  return isAmongAdmins(session, known, ownJid(session));
}

/**
 * Whether another person is an admin of the group; false if the network does not answer. Throws if the session is not
 * connected: then the query is repeated.
 */
export async function isAdmin(session: WhatsAppContext, group: string, person: string): Promise<boolean> {
  if (session.phase !== 'live' || !session.connection) throw new Error('the session is not connected');
  const known = await session.groups.readForOthers(group).catch((err) => {
    if (session.phase !== 'live') throw err;
    return null;
  });
  return known !== null && isAmongAdmins(session, known, person);
}

async function isAmongAdmins(
  session: WhatsAppContext,
  { admins }: CachedGroup,
  person: string,
): Promise<boolean> {
  for (const { id, phoneNumber } of admins)
    if ((await nameOf(session, id, phoneNumber)) === person) return true;
  return false;
}
