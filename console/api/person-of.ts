/** Matches JIDs that contain a phone number. */
const OF_PERSON = /@s\.whatsapp\.net$/;

/** The phone of a person; for a group or an anonymous person, the JID. */
export function personOf(jid: string): string {
  return jid.replace(OF_PERSON, '');
}
