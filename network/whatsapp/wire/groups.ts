import type { GroupInfo } from '@posthorn/core/network/driver.ts';
import type { LibraryGroup } from '../library-group-types.ts';

/**
 * Converts a group for the port; `nameOf` picks our name for a person from the network's one or two names.
 */
export async function groupOf(
  group: LibraryGroup,
  nameOf: (jid: string, other?: string | null) => Promise<string>,
): Promise<GroupInfo> {
  const participants: GroupInfo['participants'] = [];
  for (const { id, phoneNumber, admin } of group.participants ?? []) {
    const role = admin === 'superadmin' || admin === 'admin' ? admin : 'member';
    participants.push({ jid: await nameOf(id, phoneNumber), role });
  }
  return {
    jid: group.id,
    name: group.subject ?? '',
    description: group.desc ?? '',
    owner: group.owner ? await nameOf(group.owner, group.ownerPn) : null,
    created_at: group.creation ? group.creation * 1000 : null,
    announce: group.announce === true,
    locked: group.restrict === true,
    participants,
  };
}
