import { companiesToPurge, purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { sweepExpired } from '@posthorn/core/accounts/sweep-expired.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { HOUR_MS } from '@posthorn/core/platform/durations.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createLoneJob, type LoneJob } from '../lone-job.ts';

/** More often than daily (ACC-26): nobody's data is kept a day longer than promised. */
const EVERY_MS = HOUR_MS;

/** A round tells how many companies it purged. */
export type PurgeJob = LoneJob<number>;

/** Drops the data of companies that were deleted 30 days ago, and sessions that are past their time. */
export function createPurgeJob(deps: { db: Db; clock: Clock; log: Log }): PurgeJob {
  return createLoneJob(deps, {
    name: 'the purge',
    lock: ADVISORY_LOCKS.purge,
    everyMs: EVERY_MS,
    round: (signal) => purge(deps, signal),
  });
}

async function purge(deps: { db: Db; clock: Clock; log: Log }, signal: AbortSignal): Promise<number> {
  const now = deps.clock.now();
  await sweepExpired(deps, now);
  let purged = 0;
  for (const companyId of await companiesToPurge(deps, now)) {
    if (signal.aborted) break;
    try {
      await purgeCompany(deps, companyId);
      purged++;
      deps.log.info({ company_id: companyId }, 'data of a deleted company removed');
    } catch (err) {
      // The others' turn all the same; this one is begun again in the next round.
      deps.log.error({ err, company_id: companyId }, 'a deleted company could not be purged');
    }
  }
  return purged;
}
