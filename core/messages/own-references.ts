import type { Sql } from '../platform/database/db.ts';
import { sentIdOf } from '../platform/ids.ts';

/** The id of a message of ours that another message names by the network's id; null for a message of somebody else. */
export type OwnIdOf = (instanceId: string, networkId: string) => string | null;

interface Reference {
  instanceId: string;
  networkId: string;
}

const byItself: OwnIdOf = (_, networkId) => sentIdOf(networkId);

/**
 * Finds which of these name messages of ours. Most ids tell it by themselves; the database is asked only for ids that
 * the network made, which are no hex digits.
 */
export async function readOwnReferences(sql: Sql, references: readonly Reference[]): Promise<OwnIdOf> {
  const made = references.filter(({ networkId }) => !/^[0-9A-F]+$/i.test(networkId));
  if (made.length === 0) return byItself;
  const { rows } = await sql.query<{ id: string; instance_id: string; network_id: string }>({
    name: 'messages-own-references',
    text: `SELECT m.id, m.instance_id, m.network_id FROM unnest($1::uuid[], $2::text[]) AS w (instance_id, network_id)
           JOIN messages m ON m.instance_id = ANY (ARRAY[w.instance_id]) AND m.network_id = w.network_id
           WHERE m.network_id IS NOT NULL AND m.direction = 'outbound'`,
    values: [made.map(({ instanceId }) => instanceId), made.map(({ networkId }) => networkId)],
  });
  const own = new Map(rows.map((row) => [`${row.instance_id} ${row.network_id}`, row.id]));
  return (instanceId, networkId) => own.get(`${instanceId} ${networkId}`) ?? sentIdOf(networkId);
}
