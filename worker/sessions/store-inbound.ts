import { ApiError } from '@posthorn/contract/api-error.ts';
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { type InboundMediaStore, MediaUnusable } from '@posthorn/core/media/media-port.ts';
import {
  type NetworkSession,
  NotConnected,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { idInChat } from '@posthorn/core/platform/ids.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { isStorageTrouble } from '@posthorn/core/platform/storage/storage.ts';
import { type Care, LocalFailure } from './bounded-tries.ts';
import type { SanitizedMessage } from './sanitize.ts';

/** Messages wait this long for a failing storage; then they are reported without their media. */
const STORAGE_PATIENCE_MS = 10 * 60_000;
/**
 * A message, and those behind it in its chat, waits this long for a network that cannot be reached: a lost connection
 * is back by then.
 */
const NETWORK_PATIENCE_MS = 10_000;

/** A received message and the result of storing its media. */
export interface StoredInbound {
  message: SanitizedMessage;
  mediaId?: string | undefined;
  mimeType?: string | undefined;
  animated?: boolean | undefined;
  /** Why it is incomplete. */
  incomplete?: string | undefined;
}

export interface StoreScope {
  companyId: number;
  instanceId: string;
  settings(): InstanceSettings;
  session(): NetworkSession | null;
}

/** Creates the function that stores the media of one instance's received messages, with the given care. */
export function createInboundStorer(
  deps: { inboundMedia: InboundMediaStore | null; log: Log },
  scope: StoreScope,
): (message: SanitizedMessage, care: Care) => Promise<StoredInbound> {
  /** When our storage began to fail, on the monotonic clock. */
  let storageFailsSinceMs: number | null = null;
  /** By message, when the network first could not be reached for its media. */
  const networkFailsSinceMs = new Map<string, number>();

  /** No id if the media is not to be stored or cannot be: the message is reported without it. */
  async function keep(message: SanitizedMessage, care: Care): Promise<Kept> {
    if (!scope.settings().store_media || !deps.inboundMedia) return {};
    if (care !== 'whole') return { missing: 'media_unavailable' };
    const session = scope.session();
    if (!session) throw new LocalFailure('the session has ended');
    const { networkId, chat: remoteJid } = message;
    const media = message.media!;
    const key = media.key ?? idInChat(networkId, remoteJid);
    try {
      const { mimeType, fileName } = media;
      const open = () => session.download(media);
      const kept = await deps.inboundMedia.store(scope, { key, remoteJid, mimeType, fileName, open });
      storageFailsSinceMs = null;
      networkFailsSinceMs.delete(key);
      return kept;
    } catch (err) {
      // Everybody waits for a status: it has the tries of every item.
      if (err instanceof SendUnavailable && remoteJid !== STATUS_BROADCAST)
        return { missing: afterNetworkFailure(key, err) };
      if (isOurTrouble(err)) storageFailsSinceMs ??= performance.now();
      const missing = missingBecause(err, performance.now() - (storageFailsSinceMs ?? 0));
      if (missing === null) throw err;
      deps.log.debug({ err, instance_id: scope.instanceId }, 'storing received media failed');
      return { missing };
    }
  }

  /** Why there is no media; throws while it may still come. A session that is not connected receives nothing new that would have to wait. */
  function afterNetworkFailure(key: string, cause: SendUnavailable): string {
    if (cause instanceof NotConnected) {
      networkFailsSinceMs.delete(key);
      throw new LocalFailure('received media waits for the connection', { cause });
    }
    const since = networkFailsSinceMs.get(key) ?? performance.now();
    networkFailsSinceMs.set(key, since);
    if (performance.now() - since < NETWORK_PATIENCE_MS)
      throw new LocalFailure('received media could not be fetched', { cause });
    networkFailsSinceMs.delete(key);
    return 'media_unavailable';
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

/** The result of storing a message's media. */
interface Kept {
  mediaId?: string;
  mimeType?: string;
  animated?: boolean;
  /** Why there is none. */
  missing?: string;
}

/**
 * Why the media will never be stored; null if it is to be tried again. `failingMs`: how long our storage has
 * been failing.
 */
function missingBecause(err: unknown, failingMs: number): string | null {
  if (err instanceof SendRefused || err instanceof MediaUnusable) {
    return err.reason.startsWith('media_') ? err.reason : 'media_unavailable';
  }
  if (err instanceof ApiError && err.code === 'PLAN_LIMIT_REACHED') return 'media_storage_full';
  if (!isOurTrouble(err)) return null;
  if (failingMs < STORAGE_PATIENCE_MS) {
    throw new LocalFailure('received media could not be stored', { cause: err });
  }
  return 'media_not_stored';
}

/** The storage fails, or the disk of this machine takes nothing: neither says anything about the media. */
function isOurTrouble(err: unknown): boolean {
  return isStorageTrouble(err) || (err instanceof ApiError && err.code === 'SERVICE_UNAVAILABLE');
}
