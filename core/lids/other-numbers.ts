import {
  type Jid,
  jidOfPhone,
  phoneOf,
  USER_SERVER,
  withAddedDigit,
  withoutAddedDigit,
} from '@posthorn/contract/jid.ts';
import type { Sql } from '../platform/database/db.ts';

/**
 * Numbers whose account may have another one, because their country has added a digit since: Brazil outside of the areas 11
 * to 28, Mexico and Argentina. The people behind them write from the number of the account, whichever was written to. For
 * JavaScript and PostgreSQL.
 */
const MAY_HAVE_OTHER = `^(55(?!1[1-9]|2[1-8])[1-9]{2}\\d{8,9}|5[24]\\d{10,11})@s\\.whatsapp\\.net$`;
const mayHaveOther = new RegExp(MAY_HAVE_OTHER);

/** Whether the account of this number may have another one. */
export function mayHaveOtherNumber(jid: Jid): boolean {
  return mayHaveOther.test(jid);
}

/** The same, as SQL. */
export function mayHaveOtherNumberSql(jid: string): string {
  return `${jid} ~ '${MAY_HAVE_OTHER}'`;
}

/** The number that the account of this one may have instead; undefined: none. */
export function otherNumberOf(jid: Jid): Jid | undefined {
  if (!mayHaveOtherNumber(jid)) return undefined;
  const phone = phoneOf(jid);
  const short = withoutAddedDigit(phone);
  const other = short === phone ? withAddedDigit(phone) : short;
  return other === phone ? undefined : jidOfPhone(other);
}

/**
 * One name for a number and the other one that its account may have. It keeps the sends to a person in order, although some
 * were accepted before the account was known. Two people who share a name only wait for each other.
 */
export function sharedNameOf(jid: Jid): Jid {
  const other = otherNumberOf(jid);
  return other !== undefined && other < jid ? other : jid;
}

/**
 * Forgets which numbers lead to these accounts, after the network found no account there: people who register again may have
 * the number that everybody writes.
 */
export async function forgetOtherNumbers(
  sql: Sql,
  accounts: readonly { instanceId: string; jid: Jid }[],
): Promise<void> {
  const numbers = accounts.filter(({ jid }) => mayHaveOtherNumber(jid));
  if (numbers.length === 0) return;
  await sql.query(FORGET, [
    numbers.map(({ instanceId }) => instanceId),
    numbers.map(({ jid }) => phoneOf(jid)),
  ]);
}

/**
 * SQL: removes the rows `l` of `lids` that a condition finds by the names `w.name` of instances, `$1` and `$2`. Recorders do so
 * before all but the messages that they record, and lock the rows in one order: two never wait for each other in a ring.
 */
export function forgetSql(condition: string): string {
  return `
WITH held AS MATERIALIZED (
  SELECT l.instance_id, l.lid FROM unnest($1::uuid[], $2::text[]) AS w (instance_id, name)
  JOIN lids l ON l.instance_id = w.instance_id AND ${condition}
  ORDER BY l.instance_id, l.lid FOR UPDATE OF l
)
DELETE FROM lids USING held WHERE lids.instance_id = held.instance_id AND lids.lid = held.lid`;
}

const FORGET = forgetSql(`l.phone = w.name AND l.lid LIKE '%@${USER_SERVER}'`);
