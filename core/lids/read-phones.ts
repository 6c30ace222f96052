import { isAnonymousJid, type Jid, jidOfPhone, phoneOf } from '@posthorn/contract/jid.ts';
import type { Sql } from '../platform/database/db.ts';

/** Somebody, as an instance knows them. */
export interface Person {
  instanceId: string;
  jid: Jid;
}

/** The phone of a person; empty for groups and for anonymous ids whose phone is not known. */
export type PhoneBook = (person: Person) => string;

/** The address of the phone, where it is known; else the address as it stands. */
export function knownJid(book: PhoneBook, person: Person): Jid {
  const phone = isAnonymousJid(person.jid) ? book(person) : '';
  return phone === '' ? person.jid : jidOfPhone(phone);
}

const withoutLids: PhoneBook = ({ jid }) => phoneOf(jid);

/**
 * The phones of these people. Costs nothing where nobody is known by an anonymous id alone: the database is then not
 * asked.
 */
export async function readPhones(sql: Sql, people: Iterable<Person>): Promise<PhoneBook> {
  const lids = [...people].filter(({ jid }) => isAnonymousJid(jid));
  if (lids.length === 0) return withoutLids;
  const found = await sql.query<{ instance_id: string; lid: string; phone: string }>({
    name: 'lids-read-phones',
    text: `SELECT DISTINCT l.instance_id, l.lid, l.phone
           FROM json_to_recordset($1) AS w ("instanceId" uuid, jid text)
           JOIN lids l ON l.instance_id = ANY (ARRAY[w."instanceId"]) AND l.lid = w.jid`,
    values: [JSON.stringify(lids)],
  });
  const known = new Map(
    found.rows.map((row) => [keyOf({ instanceId: row.instance_id, jid: row.lid }), row.phone]),
  );
  return (person) => known.get(keyOf(person)) ?? phoneOf(person.jid);
}

/** The anonymous ids of a phone. */
export async function readLidsOf(sql: Sql, instanceId: string, phone: string): Promise<Jid[]> {
  const found = await sql.query<{ lid: string }>({
    name: 'lids-of-phone',
    text: 'SELECT lid FROM lids WHERE instance_id = $1 AND phone = $2 LIMIT 100',
    values: [instanceId, phone],
  });
  return found.rows.map((row) => row.lid);
}

function keyOf({ instanceId, jid }: Person): string {
  return `${instanceId} ${jid}`;
}
