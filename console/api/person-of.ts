/** Of the JIDs that are a phone at the network. */
const OF_PERSON = /@s\.whatsapp\.net$/;

/** A person by the phone; a group, and whoever the network keeps anonymous, by the JID. */
export function personOf(jid: string): string {
  return jid.replace(OF_PERSON, '');
}
