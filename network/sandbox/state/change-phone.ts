/** Making and changing phones, as a tester or their owner would. */
import { jidOfPhone } from '@posthorn/contract/jid.ts';
import { deliver, scheduleRead } from './deliver.ts';
import { changeDevice, saveName } from './device.ts';
import { giveLid } from './lids.ts';
import type { AnonymousId, Phone, PhoneSettings, StatusPrivacy } from './model.ts';
import { isOnline, phoneFor, settingOf } from './phones.ts';
import { tellPresence } from './presence.ts';
import { phoneRecord } from './records.ts';
import type { World } from './world.ts';

export interface PhoneChange extends Partial<PhoneSettings> {
  name?: string;
  business?: boolean;
  status_privacy?: StatusPrivacy;
  about?: string;
  /** Null: it shows its number everywhere. */
  lid?: AnonymousId['tell'] | null;
}

/** Makes or changes a phone; what waited for it arrives when it comes online. */
export function changePhone(world: World, number: string, change: PhoneChange): Phone {
  const phone = phoneFor(world, number);
  const { name, business, about, lid, status_privacy: privacy, ...settings } = change;
  if (about !== undefined) phone.about = about;
  if (lid !== undefined) giveLid(world, phone, lid);
  const wasOnline = isOnline(world, phone);
  if (privacy !== undefined) phone.statusPrivacy = privacy;
  if (name !== undefined) phone.name = name;
  if (business !== undefined) phone.business = business;
  phone.own = { ...phone.own, ...settings };
  world.journal.append(phoneRecord(phone));
  const online = isOnline(world, phone);
  if (online !== wasOnline) tellPresence(world, phone, online ? 'available' : 'unavailable', null);
  catchUp(world, phone);
  return phone;
}

/** Saves numbers in a phone's address book, under their own names unless one is given, or takes them out. */
export function changeContacts(
  world: World,
  phone: Phone,
  change: { add: readonly string[]; remove: readonly string[]; name?: string | undefined },
): void {
  for (const number of change.add) {
    // Every number in an address book has a phone: a status can reach it.
    const known = phoneFor(world, number);
    phone.contacts.add(number);
    saveName(world, phone, number, change.name ?? known.name);
  }
  for (const number of change.remove) {
    phone.contacts.delete(number);
    saveName(world, phone, number, '');
  }
  world.journal.append(phoneRecord(phone));
}

/** A blocked number's direct messages never arrive, those already under way included. Gives the revision. */
export function changeBlock(world: World, phone: Phone, number: string, isBlocked: boolean): number {
  if (isBlocked) phone.blocked.add(number);
  else phone.blocked.delete(number);
  world.journal.append(phoneRecord(phone));
  return changeDevice(world, phone, { kind: 'blocked', jid: jidOfPhone(number), blocked: isBlocked });
}

/** Changes what every phone does that was not told otherwise. */
export function changeDefaults(world: World, change: Partial<PhoneSettings>): void {
  world.defaults = { ...world.defaults, ...change };
  world.journal.append(['defaults', world.defaults]);
  for (const phone of world.phones.values()) catchUp(world, phone);
}

/** Delivers what waited, and reads what lies unread, as far as the phone is set to. */
export function catchUp(world: World, phone: Phone): void {
  if (!isOnline(world, phone)) return;
  const waiting = phone.waiting;
  phone.waiting = [];
  for (const message of waiting) deliver(world, phone, message);
  if (!phone.account && settingOf(world, phone, 'auto_read')) {
    for (const message of phone.unread) scheduleRead(world, phone, message);
  }
}
