import type { OpenedMedia } from '@posthorn/core/media/open-media.ts';
import { archiveMessages, type Removed } from '@posthorn/core/messages/archive-messages.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import { HOUR_MS } from '@posthorn/core/platform/durations.ts';
import { PLAYGROUND_INSTANCE_ID } from '@posthorn/core/playground/shared-instance.ts';
import { removeOldStatuses } from '@posthorn/core/status/remove-old-statuses.ts';
import { createLoneJob, type LoneJob, type LoneJobDeps } from '../lone-job.ts';

export type ArchiveJob = LoneJob<Removed>;

/** Removes messages past their retention, archived where the settings say so, and statuses (LIM-14). */
export function createArchiveJob(
  deps: LoneJobDeps & {
    media: Pick<OpenedMedia, 'storage' | 'spool'>;
    config: Pick<Config, 'MESSAGE_RETENTION_DAYS' | 'MESSAGE_ARCHIVE'>;
  },
): ArchiveJob {
  const { config, media, log } = deps;
  return createLoneJob(deps, {
    name: 'the retention of messages',
    lock: ADVISORY_LOCKS.messageRetention,
    everyMs: HOUR_MS,
    async round(signal) {
      if (config.MESSAGE_ARCHIVE && !media.storage) {
        if (config.MESSAGE_RETENTION_DAYS !== undefined)
          log.warn(
            'keeping messages past MESSAGE_RETENTION_DAYS: set up a storage to archive them, or MESSAGE_ARCHIVE=false',
          );
        return { messages: 0, archives: 0 };
      }
      const retentionDays = config.MESSAGE_RETENTION_DAYS ?? null;
      const removed = await archiveMessages({
        ...deps,
        spool: media.spool,
        storage: config.MESSAGE_ARCHIVE ? media.storage : null,
        retentionDays,
        exceptInstanceId: PLAYGROUND_INSTANCE_ID,
        signal,
      });
      const statuses = await removeOldStatuses({ ...deps, retentionDays, signal });
      if (statuses > 0) log.info({ statuses }, 'statuses past the retention of messages were removed');
      if (removed.messages > 0) log.info(removed, 'messages past their retention were removed');
      return removed;
    },
  });
}
