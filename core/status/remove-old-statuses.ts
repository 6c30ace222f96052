import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';

const BATCH = 5_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Removes the statuses that are past the retention of messages, in whole months as these (LIM-14), with their views. They live a day in
 * the network, so they are not archived; those of the account itself are messages, which are. Gives how many went.
 */
export async function removeOldStatuses(deps: {
  db: Db;
  clock: Clock;
  /** Where the plan says nothing; null: for ever. */
  retentionDays: number | null;
  signal: AbortSignal;
}): Promise<number> {
  const { db, clock, signal } = deps;
  let removed = 0;
  let instanceId = FIRST_ID;
  for (;;) {
    const next = await db.query<{ instance_id: string; days: number | null }>({
      ...NEXT_INSTANCE,
      values: [instanceId, deps.retentionDays],
    });
    const [owner] = next.rows;
    if (!owner || signal.aborted) return removed;
    instanceId = owner.instance_id;
    if (owner.days === null) continue;
    const past = new Date(clock.now().getTime() - owner.days * DAY_MS);
    const before = new Date(Date.UTC(past.getUTCFullYear(), past.getUTCMonth(), 1));
    let gone: number;
    do {
      const { rows } = await db.query<{ gone: number }>({ ...REMOVE, values: [instanceId, before, BATCH] });
      ({ gone } = oneRow(rows));
      removed += gone;
    } while (gone === BATCH && !signal.aborted);
  }
}

/** From one instance to the next by the index, also of those that are deleted. */
const NEXT_INSTANCE = {
  name: 'statuses-next-instance',
  text: `
SELECT s.instance_id, coalesce(c.message_retention_days, $2::integer) AS days
FROM (SELECT instance_id, company_id FROM status_feed WHERE instance_id > $1 ORDER BY instance_id LIMIT 1) AS s
LEFT JOIN companies c ON c.id = s.company_id`,
};

const REMOVE = {
  name: 'statuses-remove-old',
  text: `
WITH old AS MATERIALIZED (
  SELECT id FROM status_feed WHERE instance_id = $1 AND posted_at < $2 ORDER BY posted_at, id LIMIT $3
), gone AS (
  DELETE FROM status_feed WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING status_id
), viewed AS (
  DELETE FROM status_views WHERE instance_id = $1 AND status_id = ANY (ARRAY(SELECT status_id FROM gone))
)
SELECT count(*)::integer AS gone FROM gone`,
};
