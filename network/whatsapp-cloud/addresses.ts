/** The network's names of people as addresses of ours, and back. */
import { isUserIdJid, isUserJid, type Jid, jidOfPhone, jidOfUserId } from '@posthorn/contract/jid.ts';
import { SendRefused } from '@posthorn/core/network/driver.ts';

/** Somebody as webhooks name them: by number, by business-scoped id, or by both. */
export interface Named {
  phone?: string | undefined;
  userId?: string | undefined;
}

const PHONE = /^\d{5,20}$/;

/** Null when neither name is one. */
export function jidOf({ phone, userId }: Named): Jid | null {
  if (phone !== undefined && PHONE.test(phone)) return jidOfPhone(phone);
  return userId === undefined ? null : jidOfUserId(userId);
}

/** How a message names its recipient. Throws SendRefused for groups and statuses, which this driver does not reach. */
export function recipientOf(to: Jid): { to: string } | { recipient: string } {
  const name = to.slice(0, to.lastIndexOf('@'));
  if (isUserJid(to)) return { to: name };
  if (isUserIdJid(to)) return { recipient: name };
  throw new SendRefused('invalid_recipient');
}
