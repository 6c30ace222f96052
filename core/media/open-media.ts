import path from 'node:path';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/database/db.ts';
import { createOutbound } from '../platform/http/outbound-http.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { StorageConfig } from '../platform/storage/create-storage.ts';
import { createMediaFinder, type MediaFinder } from './find-media.ts';
import type { MediaDeps } from './media-deps.ts';
import type { MediaSources } from './media-port.ts';
import { createMediaSources } from './media-sources.ts';
import { createNetworkImages, type NetworkImages } from './network-images.ts';
import { openStorage } from './open-storage.ts';
import { createSharedBudget } from './shared-budget.ts';
import { createSpool, openSpool } from './spool.ts';
import { createTypeDetector } from './type-detector.ts';

/** Media as one process holds it. */
export interface OpenedMedia extends MediaDeps {
  finder: MediaFinder;
  sources: MediaSources;
  /** Pictures that a network tells of by address. */
  networkImages: NetworkImages;
  close(): Promise<void>;
}

/**
 * Where the networks themselves keep media: its addresses are secrets of theirs, short-lived and bound to an
 * account, so nothing there is for a server to fetch (MED-8).
 */
export const NETWORK_DOMAINS = [
  'whatsapp.net',
  'whatsapp.com',
  'fbcdn.net',
  'fbsbx.com',
  'facebook.com',
  'facebook.net',
  'cdninstagram.com',
  'instagram.com',
];

/** Opens the storage that the settings name, and the parts in front of it. Close it when all is served. */
export async function openMedia(deps: {
  config: StorageConfig &
    Pick<
      Config,
      | 'MEDIA_RETENTION_DAYS'
      | 'MEDIA_MEMORY_MB'
      | 'MEDIA_SPOOL_MB'
      | 'MEDIA_PRIVATE_HOSTS'
      | 'HTTP_TIMEOUT'
      | 'NETWORK_DRIVERS'
      | 'SANDBOX_URL'
    >;
  db: Db;
  clock: Clock;
}): Promise<OpenedMedia> {
  const { config, db, clock } = deps;
  const storage = await openStorage({ config, db });
  const spool = storage
    ? await openSpool(storage.spoolDir)
    : createSpool({ directory: path.resolve(config.DATA_DIR) });
  const outbound = createOutbound({
    // Webhooks may go to private addresses where that is allowed; media is shown to whoever asks, so never.
    allowPrivate: false,
    allowHosts: config.MEDIA_PRIVATE_HOSTS,
    refuseDomains: NETWORK_DOMAINS,
  });
  const parts = {
    db,
    clock,
    storage,
    spool,
    types: createTypeDetector(),
    outbound,
    budget: createSharedBudget(config.MEDIA_MEMORY_MB * 1024 * 1024),
    room: createSharedBudget(config.MEDIA_SPOOL_MB * 1024 * 1024),
    retentionDays: config.MEDIA_RETENTION_DAYS,
    fetchTimeoutMs: config.HTTP_TIMEOUT * 1000,
    finder: createMediaFinder({ db }),
  };
  const networkImages = createNetworkImages(parts, config);
  return {
    ...parts,
    sources: createMediaSources(parts),
    networkImages,
    async close() {
      await networkImages.close();
      await outbound.close();
      await parts.types.close();
      await storage?.close();
    },
  };
}
