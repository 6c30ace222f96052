import type { InboundMediaStore, MediaScope, MediaSources } from '@posthorn/core/media/media-port.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { noMediaSources } from '@posthorn/core/media/no-storage.ts';
import type { OutboundMedia } from '@posthorn/core/network/driver.ts';

/** Reads and converts what is about to be sent. */
export interface MediaPreparer {
  /**
   * `type` is the message's type (`audio`, `status_video`, ...); with `voice` anything becomes OGG Opus
   * with a waveform (MED-18). Throws {@link MediaUnusable} for good, anything else to be tried
   * again.
   */
  prepare(
    scope: MediaScope,
    media: {
      mediaId: string;
      type: string;
      voice: boolean;
      /** The chat it is sent to: media that belongs to none yet is linked to it (MED-13). */
      remoteJid?: string;
    },
    signal: AbortSignal,
  ): Promise<OutboundMedia>;
}

/** All that a worker needs of media. */
export interface WorkerMedia {
  /** For scheduled sends, which are prepared when their time has come. */
  sources: MediaSources;
  preparer: MediaPreparer;
  /** Null where nothing that arrives is stored. */
  inbound: InboundMediaStore | null;
}

/** Without media storage what is queued with media fails, and what arrives is told without it (MED-17). */
export const noWorkerMedia: WorkerMedia = {
  sources: noMediaSources,
  preparer: {
    prepare: async () => {
      throw new MediaUnusable('media_storage_not_configured');
    },
  },
  inbound: null,
};
