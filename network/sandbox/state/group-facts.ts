/** What accounts hear of the groups that they are in. */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { GroupInfo } from '../../actions.ts';
import type { FactBody } from '../fact-frames.ts';
import type { Account, Group, Phone } from './model.ts';
import { pushEvent } from './receipts.ts';
import type { World } from './world.ts';

/** A group as its participants see it. */
export function groupInfo(group: Group): GroupInfo {
  const { jid, name, description, owner, createdAt, announce, locked } = group;
  return {
    jid,
    name,
    description,
    owner: owner ? memberJid(owner) : null,
    created_at: createdAt,
    announce,
    locked,
    participants: [...group.participants].map((phone) => ({
      jid: memberJid(phone),
      role: phone === group.owner ? 'superadmin' : group.admins.has(phone) ? 'admin' : 'member',
    })),
  };
}

/** Under which address a phone stands in a group. */
export function memberJid(phone: Phone): Jid {
  return phone.jid;
}

/** Tells a fact to the accounts among these phones. */
export function tellFact(world: World, phones: Iterable<Phone>, fact: FactBody): void {
  const at = Date.now();
  for (const { account } of phones) if (account) pushEvent(world, account, { k: 'fact', fact, at }, null);
}

/** A new pairing hears of each group that its phone is in. */
export function tellOwnGroups(world: World, account: Account): void {
  for (const group of world.groups.values()) {
    if (group.participants.has(account.phone))
      tellFact(world, [account.phone], { kind: 'group', group: groupInfo(group) });
  }
}
