import type { Readable } from 'node:stream';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { StoredMedia } from '@posthorn/core/media/find-media.ts';
import { linkToChat } from '@posthorn/core/media/link-to-chat.ts';
import { MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { findVariant, type MediaVariant, saveVariant } from '@posthorn/core/media/variants.ts';
import type { OutboundMedia } from '@posthorn/core/network/driver.ts';
import type { Storage } from '@posthorn/core/platform/storage/storage.ts';
import { StorageMissing } from '@posthorn/core/platform/storage/storage.ts';
import { makeVariant, suffices, variantFor } from './make-variant.ts';
import type { PreparerDeps } from './preparer-deps.ts';
import { ConversionFailed } from './run-ffmpeg.ts';
import type { MediaPreparer } from './worker-media.ts';

/**
 * A failed conversion is not retried for this long: a send to a thousand chats fails once, not a thousand
 * times.
 */
const FAILURES_MS = 600_000;
const FAILURES_MAX = 1_000;

/**
 * Prepares media for sending, in the form the network takes. That form is made once per media and stored with
 * it, for repeated sends and sends to many chats. Throws {@link MediaUnusable} `media_not_found`,
 * `media_invalid` or `media_conversion_failed`.
 */
export function createMediaPreparer(deps: PreparerDeps): MediaPreparer {
  const { media, limiter } = deps;
  const making = new Map<string, Promise<MediaVariant>>();
  const failures = new Map<string, { reason: string; until: number }>();

  function remember(key: string, { reason }: MediaUnusable): void {
    if (failures.size >= FAILURES_MAX) failures.clear();
    failures.set(key, { reason, until: performance.now() + FAILURES_MS });
  }

  async function variantOf(
    stored: StoredMedia,
    desired: { type: string; voice: boolean },
    signal: AbortSignal,
  ): Promise<MediaVariant> {
    const name = variantFor(stored, desired);
    const known = await findVariant(media, stored.mediaId, name);
    if (known && suffices(deps, known, stored, desired.type)) return known;
    const key = `${stored.mediaId} ${name} ${desired.type}`;
    const failed = failures.get(key);
    if (failed && failed.until > performance.now()) throw new MediaUnusable(failed.reason);
    const running = making.get(key);
    if (running) {
      return running.catch((err) => {
        if (err instanceof MediaUnusable) throw err;
        // The task that started it was stopped, or the storage was away: this task tries again.
        signal.throwIfAborted();
        return variantOf(stored, desired, signal);
      });
    }
    const made = limiter
      .run(stored.companyId, () => makeVariant(deps, { stored, name, type: desired.type }, signal), signal)
      .then((variant) => saveVariant(media, stored, variant))
      .catch((err) => {
        const unusable = unusableOf(err, desired.type);
        if (!unusable) throw err;
        deps.log.debug({ err, media_id: stored.mediaId }, 'preparing media failed for good');
        // Room may be made at any moment.
        if (unusable.reason !== 'media_storage_full') remember(key, unusable);
        throw unusable;
      })
      .finally(() => making.delete(key));
    making.set(key, made);
    return made;
  }

  return {
    async prepare(scope, { mediaId, type, voice, remoteJid }, signal) {
      const stored = await media.finder.push({ ...scope, mediaId });
      if (!stored) throw new MediaUnusable('media_not_found');
      const variant = await variantOf(stored, { type, voice }, signal);
      if (remoteJid && stored.remoteJid === null) await linkToChat(media, stored, remoteJid);
      return preparedOf(media.storage, stored, variant);
    },
  };
}

/** Unreadable pictures and stickers are the sender's fault; other failures are ours. */
function unusableOf(err: unknown, type: string): MediaUnusable | null {
  if (err instanceof MediaUnusable) return err;
  if (err instanceof StorageMissing) return new MediaUnusable('media_not_found', { cause: err });
  if (!(err instanceof ConversionFailed)) return null;
  const reason = /image|sticker/.test(type) ? 'media_invalid' : 'media_conversion_failed';
  return new MediaUnusable(reason, { cause: err });
}

function preparedOf(storage: Storage, stored: StoredMedia, variant: MediaVariant): OutboundMedia {
  const key = variant.storageKey ?? stored.storageKey;
  return {
    key,
    open: () => openAgain(storage, key),
    mimeType: variant.mimeType,
    fileName: stored.fileName,
    sizeBytes: variant.sizeBytes,
    ...variant.details,
  };
}

async function openAgain(storage: Storage, key: string): Promise<Readable> {
  try {
    return await storage.open(key);
  } catch (cause) {
    if (cause instanceof StorageMissing) throw new MediaUnusable('media_not_found', { cause });
    throw apiError('SERVICE_UNAVAILABLE', { cause });
  }
}
