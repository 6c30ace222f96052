import { resealAll } from '@posthorn/core/operations/reseal.ts';
import { oneRow } from '@posthorn/core/platform/database/one-row.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import type { AdminDeps, Finding } from '../command.ts';

/** Tries each sealed value with each accepted key. */
export async function checkKeys({ config, db }: AdminDeps): Promise<Finding> {
  const cipher = createCipher(config.ENCRYPTION_KEY, config.ENCRYPTION_KEYS_ACCEPTED);
  let old = 0;
  const done = await resealAll({
    db,
    cipher: {
      reseal(sealed) {
        if (cipher.reseal(sealed)) old += 1;
        return null;
      },
    },
  });
  const unreadable = done.filter((column) => column.unreadable > 0);
  if (unreadable.length > 0)
    throw new Error(
      `no accepted key opens ${unreadable.map((one) => `${one.unreadable} of ${one.table}.${one.column}`).join(', ')}`,
    );
  const checked = done.reduce((sum, column) => sum + column.checked, 0);
  if (old > 0)
    return { says: `${old} of ${checked} values are sealed with another key: reseal`, isRemark: true };
  return { says: `all ${checked} sealed values open` };
}

export async function checkWorkers({ db }: AdminDeps): Promise<Finding> {
  const { rows } = await db.query<{
    workers: number;
    shards: number;
    owned: number;
    oldest_s: number | null;
  }>(
    `SELECT (SELECT count(*) FROM workers) AS workers,
       (SELECT count(*) FROM shards) AS shards,
       (SELECT count(*) FROM shards JOIN workers ON workers.id = shards.owner_id) AS owned,
       (SELECT extract(epoch FROM clock_timestamp() - min(created_at))::float8 FROM outbox) AS oldest_s`,
  );
  const { workers, shards, owned, oldest_s } = oneRow(rows);
  const waiting =
    oldest_s === null ? 'nothing is unsent' : `the oldest unsent message waits ${Math.round(oldest_s)} s`;
  const says = `${workers} live, with ${owned} of ${shards} shards; ${waiting}`;
  return { says, isRemark: workers === 0 || owned < shards };
}

/** Names the workers where the relay and the jobs run that only one process runs at a time, or where they ran last. */
export async function checkJobs({ db }: AdminDeps): Promise<Finding> {
  const { rows } = await db.query<{ name: string; worker: string; ago_s: number | null }>(
    `SELECT 'the relay' AS name, w.name AS worker, NULL AS ago_s
     FROM shards s JOIN workers w ON w.id = s.owner_id WHERE s.shard = 0
     UNION ALL
     (SELECT name, worker, CASE WHEN finished_at >= started_at THEN extract(epoch FROM clock_timestamp() - finished_at)::float8 END
      FROM lone_jobs ORDER BY name)`,
  );
  if (rows.length === 0) return { says: 'none has run yet', isRemark: true };
  const says = rows.map(({ name, worker, ago_s }) =>
    ago_s === null ? `${name} on ${worker}` : `${name} ${Math.round(ago_s / 60)} min ago on ${worker}`,
  );
  return { says: says.join('; ') };
}
