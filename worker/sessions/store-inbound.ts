import { ApiError } from '@posthorn/contract/api-error.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { type InboundMediaStore, MediaUnusable } from '@posthorn/core/media/media-port.ts';
import { type NetworkSession, SendRefused } from '@posthorn/core/network/driver.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { isStorageTrouble } from '@posthorn/core/platform/storage/storage.ts';
import { type Care, LocalFailure } from './bounded-tries.ts';
import type { SanitizedMessage } from './sanitize.ts';

/** Messages wait so long for a storage that takes nothing; then they are told without their media. */
const STORAGE_PATIENCE_MS = 10 * 60_000;

/** A received message with what became of its media. */
export interface StoredInbound {
  message: SanitizedMessage;
  mediaId?: string | undefined;
  mimeType?: string | undefined;
  animated?: boolean | undefined;
  /** Why it is not whole. */
  incomplete?: string | undefined;
}

export interface StoreScope {
  companyId: number;
  instanceId: string;
  settings(): InstanceSettings;
  session(): NetworkSession | null;
}

/** Gives the function that stores the media of what one instance receives, with as much care as is told. */
export function createInboundStorer(
  deps: { inboundMedia: InboundMediaStore | null; log: Log },
  scope: StoreScope,
): (message: SanitizedMessage, care: Care) => Promise<StoredInbound> {
  /** When our storage began to fail, by the process's own clock. */
  let storageFailsSinceMs: number | null = null;

  /** Without an id when it is not to be stored, or can't be: the message is told without it. */
  async function keep(message: SanitizedMessage, care: Care): Promise<Kept> {
    if (!scope.settings().store_media || !deps.inboundMedia) return {};
    if (care !== 'whole') return { missing: 'media_unavailable' };
    const session = scope.session();
    if (!session) throw new LocalFailure('the session has ended');
    const { networkId: key, chat: remoteJid } = message;
    const media = message.media!;
    try {
      const { mimeType, fileName } = media;
      const open = () => session.download(media);
      const kept = await deps.inboundMedia.store(scope, { key, remoteJid, mimeType, fileName, open });
      storageFailsSinceMs = null;
      return kept;
    } catch (err) {
      if (isStorageTrouble(err)) storageFailsSinceMs ??= performance.now();
      const missing = missingBecause(err, performance.now() - (storageFailsSinceMs ?? 0));
      if (missing === null) throw err;
      deps.log.debug({ err, instance_id: scope.instanceId }, 'received media is not kept');
      return { missing };
    }
  }

  return async (message, care) => {
    if (care === 'envelope')
      return { message: { ...message, type: 'unknown', content: {}, incomplete: 'content_unreadable' } };
    const { media } = message;
    if (!media) return { message, incomplete: message.incomplete };
    const kept = await keep(message, care);
    return {
      message,
      mediaId: kept.mediaId,
      mimeType: kept.mimeType ?? media.mimeType,
      animated: (kept.animated ?? media.animated) || undefined,
      incomplete: kept.missing ?? message.incomplete,
    };
  };
}

/** What became of a message's media. */
interface Kept {
  mediaId?: string;
  mimeType?: string;
  animated?: boolean;
  /** Why there is none. */
  missing?: string;
}

/** Why media will never be had; null when it is to be tried again. `failingMs`: for how long our storage fails. */
function missingBecause(err: unknown, failingMs: number): string | null {
  if (err instanceof SendRefused || err instanceof MediaUnusable) {
    return err.reason.startsWith('media_') ? err.reason : 'media_unavailable';
  }
  if (err instanceof ApiError && err.code === 'PLAN_LIMIT_REACHED') return 'media_storage_full';
  if (!isStorageTrouble(err)) return null;
  if (failingMs < STORAGE_PATIENCE_MS) {
    throw new LocalFailure('received media could not be stored', { cause: err });
  }
  return 'media_not_stored';
}
