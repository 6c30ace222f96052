import { companiesToPurge, purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { sweepExpired } from '@posthorn/core/accounts/sweep-expired.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import { HOUR_MS } from '@posthorn/core/platform/durations.ts';
import { createLoneJob, type LoneJob, type LoneJobDeps } from '../lone-job.ts';

/** More often than daily (ACC-26), so that no data stays a day longer than promised. */
const EVERY_MS = HOUR_MS;

/** A round returns how many companies it purged. */
export type PurgeJob = LoneJob<number>;

/** Removes the data of companies deleted 30 days ago, and expired sessions. */
export function createPurgeJob(deps: LoneJobDeps): PurgeJob {
  return createLoneJob(deps, {
    name: 'the purge',
    lock: ADVISORY_LOCKS.purge,
    everyMs: EVERY_MS,
    round: (signal, onFailure) => purge(deps, signal, onFailure),
  });
}

async function purge(deps: LoneJobDeps, signal: AbortSignal, onFailure: () => void): Promise<number> {
  const now = deps.clock.now();
  try {
    await sweepExpired(deps, now);
  } catch (err) {
    deps.log.warn({ err }, 'removing expired sessions and links failed, will be retried');
    onFailure();
  }
  let purged = 0;
  for (const companyId of await companiesToPurge(deps, now)) {
    if (signal.aborted) break;
    try {
      await purgeCompany(deps, companyId);
      purged++;
      deps.log.info({ company_id: companyId }, 'removed the data of a deleted company');
    } catch (err) {
      // Continue with the others; this company is retried in the next round.
      deps.log.error({ err, company_id: companyId }, 'purging a deleted company failed');
      onFailure();
    }
  }
  return purged;
}
