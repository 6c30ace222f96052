import type { Jid } from '@posthorn/contract/jid.ts';
import { jidOfKnown, mayStandForAnother } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';
import type { SendCommand } from './send-command.ts';

function mayBeElsewhere({ message }: SendCommand): boolean {
  return message !== undefined && mayStandForAnother(message.chatJid);
}

/**
 * Addresses sends to the chats in which their recipients are today: a user id may be a former one, or that of somebody whose
 * phone is known, and a number may lead to an account that has another one. Without such a send the database is not asked.
 */
export async function underKnownAddresses(sql: Sql, sends: SendCommand[]): Promise<SendCommand[]> {
  const people = sends.flatMap((send) =>
    send.message && mayBeElsewhere(send) ? [{ i: send.instanceId, jid: send.message.chatJid }] : [],
  );
  if (people.length === 0) return sends;
  const { rows } = await sql.query<{ i: string; jid: Jid; known: string | null; others: Jid[] }>({
    name: 'lids-of-sends',
    text: ADDRESSES,
    values: [JSON.stringify(people)],
  });
  const addresses = new Map(rows.map((row) => [`${row.i} ${row.jid}`, row]));
  return sends.map((send) => {
    const found = send.message && addresses.get(`${send.instanceId} ${send.message.chatJid}`);
    if (!send.message || !found) return send;
    const chatJid = found.known === null ? send.message.chatJid : jidOfKnown(found.known);
    return { ...send, message: { ...send.message, chatJid }, otherAddresses: found.others };
  });
}

/**
 * The name that `lids` has for each address today, null if it has none, and the other addresses of that chat that can be
 * written to. An anonymous id without a known phone has none: its digits are not those of a phone.
 */
const ADDRESSES = `
SELECT w.i, w.jid, today.known, ARRAY(
    SELECT l.lid FROM lids l
    WHERE l.instance_id = w.i AND l.lid NOT LIKE '%@lid'
      AND l.phone = coalesce(today.known, CASE WHEN w.jid NOT LIKE '%@lid' THEN split_part(w.jid, '@', 1) END) LIMIT 100
  ) AS others
FROM json_to_recordset($1) AS w (i uuid, jid text)
LEFT JOIN LATERAL (SELECT l.phone AS known FROM lids l WHERE l.instance_id = w.i AND l.lid = w.jid) AS today ON true`;
