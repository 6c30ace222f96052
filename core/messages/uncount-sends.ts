import { lockAcceptOrder } from '../guard/accept-order.ts';
import { isContact } from '../guard/guard.ts';
import { lastReceivedSql } from '../lids/chat-sql.ts';
import type { Sql } from '../platform/database/db.ts';

/** A send, delete or edit that ended without reaching the network. */
export interface UnsentTask {
  instanceId: string;
  chatJid: string;
  acceptedAt: Date;
}

/**
 * Takes these out of the counts of unanswered sends (SND-14), in the transaction that records their end. The temperature
 * stays: a score that is 0 does not tell whether the send has cooled it. To be called after the rows of messages are
 * locked and before those of chats, as where messages are received.
 */
export async function uncountSends(client: Sql, tasks: readonly UnsentTask[]): Promise<void> {
  const counted = tasks.filter(({ chatJid }) => isContact(chatJid));
  if (counted.length === 0) return;
  await lockAcceptOrder(
    client,
    counted.map(({ instanceId }) => instanceId),
  );
  await client.query({ name: 'chat-guards-uncount', text: UNCOUNT, values: [JSON.stringify(counted)] });
}

/** An answer that came after the accept has begun the count anew. */
const UNCOUNT = `
UPDATE chat_guards g SET outbound_consecutive = greatest(0, g.outbound_consecutive - unsent.count)
FROM (
  SELECT r."instanceId", r."chatJid", count(*)::integer AS count
  FROM json_to_recordset($1) AS r ("instanceId" uuid, "chatJid" text, "acceptedAt" timestamptz)
  WHERE coalesce(${lastReceivedSql('r."instanceId"', 'r."chatJid"')} < r."acceptedAt", true)
  GROUP BY 1, 2
) AS unsent
WHERE g.instance_id = ANY (ARRAY[unsent."instanceId"]) AND g.chat_jid = unsent."chatJid"`;
