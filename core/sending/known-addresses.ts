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
  const { rows } = await sql.query<{ i: string; jid: Jid; known: string; others: Jid[] }>({
    name: 'lids-of-sends',
    text: ADDRESSES,
    values: [JSON.stringify(people)],
  });
  const addresses = new Map(rows.map((row) => [`${row.i} ${row.jid}`, row]));
  return sends.map((send) => {
    const found = send.message && addresses.get(`${send.instanceId} ${send.message.chatJid}`);
    if (!send.message || !found) return send;
    const message = { ...send.message, chatJid: jidOfKnown(found.known) };
    return { ...send, message, otherAddresses: found.others };
  });
}

/** The name that `lids` has for each address today, and the addresses that lead to it and can be written to. */
const ADDRESSES = `
SELECT w.i, w.jid, today.name AS known, ARRAY(
    SELECT l.lid FROM lids l WHERE l.instance_id = w.i AND l.phone = today.name AND l.lid NOT LIKE '%@lid' LIMIT 100
  ) AS others
FROM json_to_recordset($1) AS w (i uuid, jid text)
CROSS JOIN LATERAL (SELECT coalesce(
    (SELECT l.phone FROM lids l WHERE l.instance_id = w.i AND l.lid = w.jid), split_part(w.jid, '@', 1)) AS name) AS today`;
