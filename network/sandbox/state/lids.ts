/**
 * Anonymous ids: the phones that groups and statuses show under one, and the accounts that are told the phone behind
 * it.
 */
import type { AnonymousId, Phone } from './model.ts';
import { tellLid } from './receipts.ts';
import type { World } from './world.ts';

/** Ids of 15 digits, which no phone number has. */
const FIRST = 150_000_000_000_000;

/** Gives a phone an anonymous id, or changes when its phone is told; null: it shows its number. */
export function giveLid(world: World, phone: Phone, tell: AnonymousId['tell'] | null): void {
  if (tell === null) {
    if (phone.lid) world.lids.delete(phone.lid.jid);
    phone.lid = null;
  } else if (phone.lid) {
    phone.lid = { jid: phone.lid.jid, tell };
  } else {
    phone.lid = { jid: `${FIRST + world.lids.size + 1}@lid`, tell };
    world.lids.set(phone.lid.jid, phone);
  }
}

/** From now on the phone is told; those who share a group with it, or saved it, hear of it at once. */
export function revealLid(world: World, phone: Phone): void {
  giveLid(world, phone, 'at_once');
  const groups = [...world.groups.values()].filter((group) => group.participants.has(phone));
  for (const account of world.accountsByToken.values()) {
    const meets = groups.some((group) => group.participants.has(account.phone));
    if (meets || account.phone.contacts.has(phone.phone)) tellLid(world, account, phone);
  }
}
