import {
  isAnonymousJid,
  isUserIdJid,
  type Jid,
  jidOfPhone,
  jidOfUserId,
  phoneOf,
} from '@posthorn/contract/jid.ts';
import type { Sql } from '../platform/database/db.ts';
import { mayHaveOtherNumber } from './other-numbers.ts';

/** Somebody, as an instance knows them. */
export interface Person {
  instanceId: string;
  jid: Jid;
}

export interface PhoneBook {
  /** The phone of a person, as their account has it; empty for groups and for anonymous ids whose phone is not known. */
  (person: Person): string;
  /** The address of the account's phone, or of the id that took the place of this one; undefined where neither is known. */
  addressOf(person: Person): Jid | undefined;
}

/** Whether this address may name somebody whose chat stands under another one: `lids` has those that do. */
export function mayStandForAnother(jid: Jid): boolean {
  return isAnonymousJid(jid) || mayHaveOtherNumber(jid);
}

/** The address of the phone or the newer id, where it is known; else the given address. */
export function knownJid(book: PhoneBook, person: Person): Jid {
  return book.addressOf(person) ?? person.jid;
}

/** By what `lids` knows somebody: digits of a phone, or the user id that took the place of theirs. */
export function jidOfKnown(known: string): Jid {
  return jidOfUserId(known) ?? jidOfPhone(known);
}

function bookOf(known: ReadonlyMap<string, string>): PhoneBook {
  const nameOf = (person: Person) => known.get(keyOf(person));
  const phone = (person: Person) => {
    const name = nameOf(person);
    return name === undefined || jidOfUserId(name) ? phoneOf(person.jid) : name;
  };
  const addressOf = (person: Person) => {
    const name = nameOf(person);
    return name === undefined ? undefined : jidOfKnown(name);
  };
  return Object.assign(phone, { addressOf });
}

const withoutLids = bookOf(new Map());

/**
 * The phones of these people. Costs nothing where each address can only be the account's own: the database is then not
 * asked.
 */
export async function readPhones(sql: Sql, people: Iterable<Person>): Promise<PhoneBook> {
  const lids = [...people].filter(({ jid }) => mayStandForAnother(jid));
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
  return bookOf(known);
}

/** The anonymous ids of a phone, the other numbers that lead to it, and the ids whose place this user id took. */
export async function readLidsOf(sql: Sql, instanceId: string, jid: Jid): Promise<Jid[]> {
  const name = isUserIdJid(jid) ? nameIn(jid) : phoneOf(jid);
  if (name === '') return [];
  const found = await sql.query<{ lid: string }>({
    name: 'lids-of-phone',
    text: 'SELECT lid FROM lids WHERE instance_id = $1 AND phone = $2 LIMIT 100',
    values: [instanceId, name],
  });
  return found.rows.map((row) => row.lid);
}

/** The address that this one names today: that of the phone or the newer id, where it is known. */
export async function readKnownJid(sql: Sql, instanceId: string, jid: Jid): Promise<Jid> {
  const person = { instanceId, jid };
  return knownJid(await readPhones(sql, [person]), person);
}

/** The addresses under which the messages and media of a chat stand, that of today first; any of them names the chat. */
export async function readAddressesOf(sql: Sql, instanceId: string, chat: Jid): Promise<Jid[]> {
  const jid = await readKnownJid(sql, instanceId, chat);
  return [jid, ...(await readLidsOf(sql, instanceId, jid))];
}

/** A user id or a number as `lids` keeps it in the column of the phone. */
export function nameIn(jid: Jid): string {
  return jid.slice(0, jid.lastIndexOf('@'));
}

function keyOf({ instanceId, jid }: Person): string {
  return `${instanceId} ${jid}`;
}
