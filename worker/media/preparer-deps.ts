import type { OpenedMedia } from '@posthorn/core/media/open-media.ts';
import type { CompanyLimiter } from '@posthorn/core/platform/process/company-limiter.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Storage } from '@posthorn/core/platform/storage/storage.ts';
import type { Ffmpeg } from './find-ffmpeg.ts';

export interface PreparerDeps {
  media: OpenedMedia & { storage: Storage };
  /** Null: this machine has none. */
  ffmpeg: Ffmpeg | null;
  /** Limits concurrent conversions in this process. */
  limiter: CompanyLimiter;
  log: Log;
}
