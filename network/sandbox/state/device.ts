/** Changing what all devices of an account share. */
import { jidOfPhone } from '@posthorn/contract/jid.ts';
import { applyDeviceFact, type DeviceChange, type DeviceFact, savedName } from './device-state.ts';
import type { Phone } from './model.ts';
import { pushEvent } from './receipts.ts';
import type { World } from './world.ts';

/** Makes a change on a phone and tells its instance, if it has one. Gives the revision. */
export function changeDevice(world: World, phone: Phone, change: DeviceChange): number {
  // Taken from the clock, so that revisions keep growing after a network has lost its data.
  const revision = Math.max(phone.device.revision + 1, Date.now());
  const fact = { ...change, revision } as DeviceFact;
  const at = Date.now();
  applyDeviceFact(phone, fact, at);
  world.journal.append(['device', phone.phone, fact, at]);
  if (phone.account) pushEvent(world, phone.account, { k: 'fact', fact, at }, null);
  return revision;
}

/** Saves a name in the address book, and tells the account's other devices when it changed. */
export function saveName(world: World, phone: Phone, number: string, name: string): void {
  const jid = jidOfPhone(number);
  if (savedName(phone, jid) !== name) changeDevice(world, phone, { kind: 'contact', jid, name });
}
