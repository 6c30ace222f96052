/** The simulated phones of the playground. */
import { parseRecipient, phoneOf } from '@posthorn/contract/jid.ts';

/** Numbers of country code 999, which no country has; longer than those that the sandbox gives to instances. */
const PREFIX = '9998';
const PHONES_PER_USER = 10;

/** The nth simulated phone of a user, of ten. */
export function phoneOfUser(userId: number, nth = 0): string {
  return `${PREFIX}${String(userId).padStart(10, '0')}${nth}`;
}

/** The phone that is meant: the user's first one when none is; null for one that is not the user's. */
export function choosePhone(userId: number, to: string | undefined): string | null {
  if (to === undefined) return phoneOfUser(userId);
  const parsed = parseRecipient(to);
  const phone = 'jid' in parsed ? phoneOf(parsed.jid) : '';
  const own = Array.from({ length: PHONES_PER_USER }, (_, nth) => phoneOfUser(userId, nth));
  return own.includes(phone) ? phone : null;
}
