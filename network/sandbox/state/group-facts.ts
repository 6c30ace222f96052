/** Facts that accounts get about the groups that they are in. */
import type { GroupInfo } from '@posthorn/core/network/actions.ts';
import type { FactBody } from '../fact-frames.ts';
import type { Account, Group, Phone } from './model.ts';
import { sharedJid } from './phones.ts';
import { pushEvent, tellLid } from './receipts.ts';
import type { World } from './world.ts';

/** A group as its participants see it. */
export function groupInfo(group: Group): GroupInfo {
  const { jid, name, description, owner, createdAt, announce, locked } = group;
  return {
    jid,
    name,
    description,
    owner: owner ? sharedJid(owner) : null,
    created_at: createdAt,
    announce,
    locked,
    participants: [...group.participants].map((phone) => ({
      jid: sharedJid(phone),
      role: phone === group.owner ? 'superadmin' : group.admins.has(phone) ? 'admin' : 'member',
    })),
  };
}

/** Tells a fact to the accounts among these phones; who is named in it is made known first. */
export function tellFact(
  world: World,
  phones: Iterable<Phone>,
  fact: FactBody,
  named: Iterable<Phone> = [],
): void {
  const at = Date.now();
  for (const { account } of phones) {
    if (!account) continue;
    for (const phone of named) tellLid(world, account, phone);
    pushEvent(world, account, { k: 'fact', fact, at }, null);
  }
}

/** A new pairing hears of each group that its phone is in. */
export function tellOwnGroups(world: World, account: Account): void {
  for (const group of world.groups.values()) {
    if (group.participants.has(account.phone))
      tellFact(world, [account.phone], { kind: 'group', group: groupInfo(group) }, group.participants);
  }
}
