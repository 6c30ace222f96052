import { availableParallelism } from 'node:os';
import { createInboundStore } from '@posthorn/core/media/inbound-store.ts';
import type { OpenedMedia } from '@posthorn/core/media/open-media.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { createLimiter } from '@posthorn/core/platform/process/limiter.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { findFfmpeg } from './find-ffmpeg.ts';
import { createMediaPreparer } from './prepare-media.ts';
import { noWorkerMedia, type WorkerMedia } from './worker-media.ts';

/** Half of the machine at most: the pipeline of texts runs on the same one. */
const CONVERSIONS_MAX = Math.max(1, Math.floor(availableParallelism() / 2));

/** A download from the network that brings nothing for so long is given up; what follows it waits for it. */
const SILENCE_MS = 10_000;

/** What a worker does with media: converts what is sent and stores what arrives. */
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
    log.info('ffmpeg runs with a network: user namespaces are not allowed here');
  const opened = { ...media, storage };
  return {
    sources,
    preparer: createMediaPreparer({ media: opened, ffmpeg, limiter: createLimiter(CONVERSIONS_MAX), log }),
    inbound: createInboundStore(opened, { silenceMs: Math.min(SILENCE_MS, media.fetchTimeoutMs) }),
  };
}
