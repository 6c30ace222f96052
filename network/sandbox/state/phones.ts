/** Finding the numbers of the network, and what each is set to. */
import { isLidJid, type Jid, jidOfPhone, phoneOf } from '@posthorn/contract/jid.ts';
import { newDeviceState } from './device-state.ts';
import type { Phone, PhoneSettings } from './model.ts';
import type { World } from './world.ts';

/** The phone with this number; one that nobody made comes to life here (ERR-20). */
export function phoneFor(world: World, phone: string): Phone {
  const known = world.phones.get(phone);
  if (known) return known;
  const made: Phone = {
    phone,
    jid: jidOfPhone(phone),
    name: defaultName(phone),
    business: false,
    own: {},
    messages: [],
    sent: new Map(),
    waiting: [],
    unread: new Set(),
    typing: new Map(),
    contacts: new Set(),
    blocked: new Set(),
    statusPrivacy: { type: 'contacts', list: [] },
    device: newDeviceState(),
    about: '',
    picture: null,
    lid: null,
    storefront: null,
    calls: [],
    account: null,
  };
  world.phones.set(phone, made);
  return made;
}

/** The name of a phone that was given none. */
export function defaultName(phone: string): string {
  return `Phone ${phone.slice(-4)}`;
}

export function phoneForJid(world: World, jid: string): Phone {
  return world.lids.get(jid) ?? phoneFor(world, phoneOf(jid));
}

/** The same for a JID that may name nobody: an anonymous id that the network did not give. */
export function findPhone(world: World, jid: string): Phone | null {
  return isLidJid(jid) ? (world.lids.get(jid) ?? null) : phoneForJid(world, jid);
}

export function settingOf<K extends keyof PhoneSettings>(
  world: World,
  phone: Phone,
  key: K,
): PhoneSettings[K] {
  return (phone.own[key] ?? world.defaults[key]) as PhoneSettings[K];
}

export function isOnline(world: World, phone: Phone): boolean {
  return settingOf(world, phone, 'online') && !world.faults.isOffline(phone);
}

/** The address of a phone in groups and statuses. */
export function sharedJid(phone: Phone): Jid {
  return phone.lid?.jid ?? phone.jid;
}
