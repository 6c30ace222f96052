import type { Jid } from '@posthorn/contract/jid.ts';
import type { InstanceScope } from '../access/instance-scope.ts';
import { type RecorderDeps, type Recording, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import type { Sql } from '../platform/database/db.ts';
import { jidOfKnown, nameIn } from './read-phones.ts';
import { moveToKnown } from './record-lids.ts';

/** Two business-scoped ids of one person, the later one second. */
export interface ChangedUserId {
  from: Jid;
  to: Jid;
}

/**
 * Records that people have other ids from now on: their chats move to the new ids, and reads by a former id find them
 * there. A person whose phone is known keeps the chat of that phone. Throws LeaseLost.
 */
export async function recordUserIds(
  deps: RecorderDeps,
  scope: InstanceScope & { lease: Lease },
  changes: readonly ChangedUserId[],
): Promise<Recorded> {
  const recordAll = async ({ client, now }: Recording) => {
    // In their order: of three ids the first two may come together.
    for (const change of changes) await record(client, scope, change, now);
  };
  await recordUnderLease(deps, scope.lease, recordAll, 'change');
  return 'recorded';
}

async function record(
  sql: Sql,
  { companyId, instanceId }: InstanceScope,
  { from, to }: ChangedUserId,
  now: Date,
): Promise<void> {
  const names = [nameIn(from), nameIn(to)];
  // Somebody who has an id again that they had before.
  await sql.query('DELETE FROM lids WHERE instance_id = $1 AND lid = $2 AND phone = $3', [
    instanceId,
    to,
    names[0],
  ]);
  const saved = await sql.query<{ lid: Jid; phone: string }>(SAVE, [
    instanceId,
    companyId,
    from,
    to,
    ...names,
    now,
  ]);
  const moved = saved.rows.map(({ lid, phone }) => ({ lid, jid: jidOfKnown(phone) }));
  await moveToKnown(sql, instanceId, moved);
}

/** The new id may have been followed by a newer one already, or its phone be known: then that counts. */
const SAVE = `
WITH known AS (
  SELECT coalesce((SELECT l.phone FROM lids l WHERE l.instance_id = $1 AND l.lid = $4), $6) AS name
), earlier AS (
  UPDATE lids SET phone = known.name, learned_at = $7 FROM known
  WHERE lids.instance_id = $1 AND lids.phone = $5 AND lids.lid <> $3
)
INSERT INTO lids AS l (instance_id, lid, company_id, phone, learned_at)
SELECT i.id, $3, i.company_id, known.name, $7
FROM known CROSS JOIN (SELECT id, company_id FROM instances WHERE id = $1 AND company_id = $2 FOR KEY SHARE) AS i
ON CONFLICT (instance_id, lid) DO UPDATE SET phone = excluded.phone, learned_at = excluded.learned_at
WHERE l.phone LIKE '%.%' AND l.phone <> excluded.phone
RETURNING lid, phone`;
