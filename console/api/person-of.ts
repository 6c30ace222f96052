import type { TFunction } from 'i18next';

/** Matches JIDs that contain a phone number. */
const OF_PERSON = /@s\.whatsapp\.net$/;
/** The chat of statuses, which nobody writes in. */
export const STATUS_CHAT = 'status@broadcast';

/** The phone of a person; for a group or an anonymous person, the JID. */
export function personOf(jid: string): string {
  return jid.replace(OF_PERSON, '');
}

/** With whom a chat without a name is: as above, and the audience of a status by that word. */
export function partyOf(t: TFunction, jid: string): string {
  return jid === STATUS_CHAT ? t('status.title') : personOf(jid);
}
