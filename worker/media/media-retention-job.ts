import type { OpenedMedia } from '@posthorn/core/media/open-media.ts';
import { emptyTrash, removeExpired, removeOrphans } from '@posthorn/core/media/remove-expired.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import { createLoneJob, type LoneJob, type LoneJobDeps } from '../lone-job.ts';

const EVERY_MS = 600_000;

/** A round returns how many rows and how many objects it removed. */
export type MediaRetentionJob = LoneJob<{ rows: number; objects: number }>;

/** Removes expired media, media of deleted instances, and objects without a row (MED-16). */
export function createMediaRetentionJob(
  deps: LoneJobDeps & { media: Pick<OpenedMedia, 'storage' | 'spool'> },
): MediaRetentionJob {
  return createLoneJob(deps, {
    name: 'the media retention',
    lock: ADVISORY_LOCKS.mediaRetention,
    everyMs: EVERY_MS,
    everywhere: true,
    round: (signal, onFailure) => round(deps, signal, onFailure),
  });
}

async function round(
  deps: Parameters<typeof createMediaRetentionJob>[0],
  signal: AbortSignal,
  onFailure: () => void,
): Promise<{ rows: number; objects: number }> {
  const { storage, spool } = deps.media;
  const rows = (await removeExpired({ ...deps, signal })) + (await removeOrphans({ ...deps, signal }));
  if (!storage) return { rows, objects: 0 };
  const { removed, failed } = await emptyTrash({ ...deps, storage, signal });
  if (failed > 0) {
    deps.log.warn({ failed }, 'removing objects failed, will be retried');
    onFailure();
  }
  // The machine's clock, not the one tests move: file times come from the machine.
  await spool.sweep(new Date());
  return { rows, objects: removed };
}
