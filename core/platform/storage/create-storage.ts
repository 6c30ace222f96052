import path from 'node:path';
import type { Config } from '../config.ts';
import { createDiskStorage } from './disk.ts';
import type { Storage } from './storage.ts';

/**
 * The bucket when GCS_BUCKET is set, else files under DATA_DIR/media (ERR-16); null with
 * `MEDIA_STORAGE=none`: then everything that needs it answers 503 (MED-17).
 */
export async function createStorage(
  config: Pick<Config, 'MEDIA_STORAGE' | 'DATA_DIR' | 'GCS_BUCKET' | 'GCS_API_ENDPOINT' | 'GCS_PROJECT_ID'>,
): Promise<Storage | null> {
  if (config.MEDIA_STORAGE === 'none') return null;
  const directory = path.resolve(config.DATA_DIR, 'media');
  if (!config.GCS_BUCKET) return createDiskStorage({ directory });
  // Loaded only when it is used: it is the largest of our dependencies.
  const { createGcsStorage } = await import('./gcs.ts');
  return createGcsStorage({
    bucket: config.GCS_BUCKET,
    spoolDir: path.join(directory, '.spool'),
    apiEndpoint: config.GCS_API_ENDPOINT,
    projectId: config.GCS_PROJECT_ID,
  });
}
