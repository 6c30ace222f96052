/** Addresses on the messaging network, defined once. */

export const USER_SERVER = 's.whatsapp.net';
export const GROUP_SERVER = 'g.us';
export const STATUS_BROADCAST = 'status@broadcast';

/** `<digits>@s.whatsapp.net`, `<digits>@g.us`, `<digits>@lid`, `<user id>@bsuid` or `status@broadcast`. */
export type Jid = string;

const PHONE = /^\+?(\d{7,15})$/;
const USER_JID = /^(\d{5,20})@s\.whatsapp\.net$/;
const GROUP_JID = /^[\d-]{5,40}@g\.us$/;
const LID_JID = /^\d{5,20}@lid$/;
/** The business-scoped id of somebody without a known number: a country, maybe `ENT`, and up to 128 characters. */
const USER_ID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/;
const USER_ID_JID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}@bsuid$/;

/**
 * The JID of a recipient as a user writes it: a phone number (digits, optional leading +, spaces,
 * dots, dashes and brackets between), an individual JID or a group JID. An anonymous id is none: what is sent
 * goes to the phone behind it.
 * Otherwise the error code that says what is wrong with it.
 */
export function parseRecipient(to: string): ParsedJid {
  const parsed = parseChat(to);
  return 'jid' in parsed && isLidJid(parsed.jid) ? { error: 'INVALID_RECIPIENT' } : parsed;
}

type ParsedJid = { jid: Jid } | { error: 'INVALID_PHONE' | 'INVALID_RECIPIENT' };

/** The same for a chat or a person that is spoken of, which may be known by an anonymous id alone. */
export function parseChat(chat: string): ParsedJid {
  const text = chat.trim();
  if (text.includes('@')) {
    if (USER_JID.test(text) || GROUP_JID.test(text) || isAnonymousJid(text)) return { jid: text };
    return { error: 'INVALID_RECIPIENT' };
  }
  if (USER_ID.test(text)) return { jid: `${text}@bsuid` };
  const phone = PHONE.exec(text.replace(/[\s().-]/g, ''));
  return phone ? { jid: `${phone[1]}@${USER_SERVER}` } : { error: 'INVALID_PHONE' };
}

/** The phone number of an individual JID; empty for groups, anonymous ids and the status broadcast. */
export function phoneOf(jid: Jid): string {
  return USER_JID.exec(jid)?.[1] ?? '';
}

export function jidOfPhone(phone: string): Jid {
  return `${phone.replace(/\D/g, '')}@${USER_SERVER}`;
}

/** Numbers to which Brazil, Mexico and Argentina have added a digit: those before it, that digit, and the rest. */
const ADDED_DIGITS: readonly { short: RegExp; long: RegExp; added: string }[] = [
  { short: /^(55\d{2})(\d{8})$/, long: /^(55\d{2})9(\d{8})$/, added: '9' },
  { short: /^(52)(\d{10})$/, long: /^(52)1(\d{10})$/, added: '1' },
  { short: /^(54)(\d{10})$/, long: /^(54)9(\d{10})$/, added: '9' },
];

/** The digits of a number as they were before its country added one; of any other number, the same digits. */
export function withoutAddedDigit(phone: string): string {
  const form = ADDED_DIGITS.find(({ long }) => long.test(phone));
  return form ? phone.replace(form.long, '$1$2') : phone;
}

/** The digits of a number with the one that its country has added since; of any other number, the same digits. */
export function withAddedDigit(phone: string): string {
  const form = ADDED_DIGITS.find(({ short }) => short.test(phone));
  return form ? phone.replace(form.short, `$1${form.added}$2`) : phone;
}

export function isGroupJid(jid: Jid): boolean {
  return GROUP_JID.test(jid);
}

export function isUserJid(jid: Jid): boolean {
  return USER_JID.test(jid);
}

/** An anonymous id: somebody of whom the network does not tell the phone. */
export function isLidJid(jid: Jid): boolean {
  return LID_JID.test(jid);
}

/** A business-scoped id of the Cloud API: unlike other anonymous ids it can be written to. */
export function isUserIdJid(jid: Jid): boolean {
  return USER_ID_JID.test(jid);
}

/** Whether the address itself tells no phone number. */
export function isAnonymousJid(jid: Jid): boolean {
  return isLidJid(jid) || isUserIdJid(jid);
}

/** The address of a business-scoped id; null for a text that is none. */
export function jidOfUserId(userId: string): Jid | null {
  return USER_ID.test(userId) ? `${userId}@bsuid` : null;
}
