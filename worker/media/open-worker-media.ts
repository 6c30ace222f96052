import { availableParallelism } from 'node:os';
import { createInboundStore } from '@posthorn/core/media/inbound-store.ts';
import type { OpenedMedia } from '@posthorn/core/media/open-media.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { createCompanyLimiter } from '@posthorn/core/platform/process/company-limiter.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { findFfmpeg } from './find-ffmpeg.ts';
import { createMediaPreparer } from './prepare-media.ts';
import { noWorkerMedia, type WorkerMedia } from './worker-media.ts';

/** At most half of the cores: text messages are processed on the same machine. */
const CONVERSIONS_MAX = Math.max(1, Math.floor(availableParallelism() / 2));

/**
 * A download from the network is aborted after this long without data, because later messages wait for it.
 */
const SILENCE_MS = 10_000;

/** Opens the media functions of a worker: converting media to send and storing received media. */
export async function openWorkerMedia(deps: {
  config: Pick<Config, 'FFMPEG_PATH'>;
  media: OpenedMedia;
  log: Log;
}): Promise<WorkerMedia> {
  const { config, media, log } = deps;
  const { storage, sources } = media;
  if (storage === null) return noWorkerMedia;
  const { ffmpeg, problem } = await findFfmpeg({ path: config.FFMPEG_PATH });
  if (ffmpeg === null)
    log.warn(`${problem}. Until then voice notes and GIFs fail: media_conversion_unavailable`);
  else if (ffmpeg.wrap.length === 0)
    log.info('ffmpeg runs with network access: user namespaces are not allowed here');
  const opened = { ...media, storage };
  const limiter = createCompanyLimiter({ each: CONVERSIONS_MAX, all: CONVERSIONS_MAX });
  return {
    sources,
    preparer: createMediaPreparer({ media: opened, ffmpeg, limiter, log }),
    inbound: createInboundStore(opened, { silenceMs: Math.min(SILENCE_MS, media.fetchTimeoutMs) }),
  };
}
