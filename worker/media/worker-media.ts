import { apiError } from '@posthorn/contract/api-error.ts';
import type { InboundMediaStore, MediaScope, MediaSources } from '@posthorn/core/media/media-port.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import type { OutboundMedia } from '@posthorn/core/network/driver.ts';

/** Reads and converts media for sending. */
export interface MediaPreparer {
  /**
   * `type` is the message's type (`audio`, `status_video`, ...); with `voice` any sound becomes OGG Opus with
   * a waveform (MED-18). Throws {@link MediaUnusable} if it can never be sent; after any other error, try
   * again.
   */
  prepare(
    scope: MediaScope,
    media: {
      mediaId: string;
      type: string;
      voice: boolean;
      /** The chat it is sent to: media without a chat is linked to it (MED-13). */
      remoteJid?: string;
    },
    signal: AbortSignal,
  ): Promise<OutboundMedia>;
}

/** The media functions a worker uses. */
export interface WorkerMedia {
  /** For scheduled sends, which are prepared when they are due. */
  sources: MediaSources;
  preparer: MediaPreparer;
  /** Null if received media is not stored. */
  inbound: InboundMediaStore | null;
}

function refuse(): never {
  throw apiError('SERVICE_UNAVAILABLE', { message: 'media storage not configured' });
}

/**
 * Without media storage, sends with media answer 503, queued media fails and received messages are reported without their media (MED-17).
 */
export const noWorkerMedia: WorkerMedia = {
  sources: {
    fromUrl: async () => refuse(),
    fromBase64: async () => refuse(),
    fromUpload: async () => refuse(),
    find: async () => null,
  },
  preparer: {
    prepare: async () => {
      throw new MediaUnusable('media_storage_not_configured');
    },
  },
  inbound: null,
};
