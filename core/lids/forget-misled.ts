import { isUserJid } from '@posthorn/contract/jid.ts';
import type { Sql } from '../platform/database/db.ts';
import { forgetSql } from './other-numbers.ts';
import { type Person, type PhoneBook, readPhones } from './read-phones.ts';

/**
 * Forgets which accounts the numbers of these writers led to, and gives the book of these people without that. A number that
 * somebody writes from is the number of their account, so what they write is put into no chat of somebody else. No chat
 * moves by it: this need not hold the addresses alone.
 */
export async function forgetMisled(
  sql: Sql,
  book: PhoneBook,
  { writers, people }: { writers: readonly Person[]; people: readonly Person[] },
): Promise<PhoneBook> {
  const misled = writers.filter((writer) => isUserJid(writer.jid) && book.addressOf(writer) !== undefined);
  if (misled.length === 0) return book;
  await sql.query(FORGET, [misled.map(({ instanceId }) => instanceId), misled.map(({ jid }) => jid)]);
  return readPhones(sql, people);
}

const FORGET = forgetSql('l.lid = w.name');
