import type { Sql } from '../platform/database/db.ts';
import { messageIdOf, plainIdOf } from '../platform/ids.ts';

/** The network's id of a message that this instance sent, by our id of it; null while it is not known. */
export async function findAssignedId(
  sql: Sql,
  instanceId: string,
  networkId: string,
): Promise<string | null> {
  const { rows } = await sql.query<{ network_id: string | null }>({
    name: 'messages-assigned-id',
    text: 'SELECT network_id FROM messages WHERE id = $1 AND instance_id = $2',
    values: [messageIdOf(networkId), instanceId],
  });
  return plainIdOf(rows[0]?.network_id ?? null);
}
