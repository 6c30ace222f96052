import { type ContactItem, sendContactBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { given, jidOf, rule } from './rule.ts';

/** One card of a contact send; `vcard` goes over the wire unchanged. */
interface Card {
  name: string;
  phone?: string | undefined;
  vcard: string;
}

/** Content `{contacts: [{name, phone?, vcard}], mentions?}`; contacts go before vcard before name and phone. */
export const contact = rule({
  body: sendContactBody,
  toMessage: ({ to, contacts = [], quoted_id, mentions, ...single }) => ({
    type: 'contact',
    chatJid: jidOf(to),
    content: given({ contacts: (contacts.length > 0 ? contacts : [single]).map(cardOf), mentions }),
    quotedId: quoted_id,
  }),
});

/** The contract has seen that one of the two forms is whole. */
function cardOf({ vcard, contact_name = '', contact_phone = '' }: ContactItem): Card {
  if (vcard) return { name: fieldOf(vcard, 'FN') ?? '', phone: fieldOf(vcard, 'TEL'), vcard };
  const name = contact_name.trim();
  return { name, phone: contact_phone, vcard: vcardOf(name, contact_phone) };
}

/** `waid` is what makes phones offer to write to the contact. */
function vcardOf(name: string, phone: string): string {
  const fn = name.replace(/[\\,;]/g, '\\$&').replace(/\r?\n/g, '\\n');
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `FN:${fn}`,
    `TEL;type=CELL;type=VOICE;waid=${phone.slice(1)}:${phone}`,
    'END:VCARD',
  ].join('\n');
}

/** The value of the first line of this property, its escapes undone. */
function fieldOf(vcard: string, property: string): string | undefined {
  const line = new RegExp(`^(?:item\\d+\\.)?${property}(?:;[^:\\r\\n]*)?:([^\\r\\n]*)`, 'im').exec(vcard);
  return line?.[1]?.replace(/\\([\\,;])/g, '$1').trim();
}
