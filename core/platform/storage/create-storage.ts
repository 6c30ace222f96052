import path from 'node:path';
import type { Config } from '../config.ts';
import { createDiskStorage } from './disk.ts';
import type { Storage } from './storage.ts';

/** The settings that a storage uses. */
export type StorageConfig = Pick<
  Config,
  | 'MEDIA_STORAGE'
  | 'DATA_DIR'
  | 'GCS_BUCKET'
  | 'GCS_API_ENDPOINT'
  | 'GCS_PROJECT_ID'
  | 'S3_BUCKET'
  | 'S3_ENDPOINT'
  | 'S3_REGION'
  | 'S3_FORCE_PATH_STYLE'
  | 'S3_ACCESS_KEY_ID'
  | 'S3_SECRET_ACCESS_KEY'
  | 'S3_SERVER_SIDE_ENCRYPTION'
>;

/**
 * The bucket of S3_BUCKET or GCS_BUCKET when one is set, else files under DATA_DIR/media (ERR-16); null with
 * `MEDIA_STORAGE=none`: then everything that needs it answers 503 (MED-17). `isInUse`: whether objects were stored before.
 */
export async function createStorage(
  config: StorageConfig,
  { isInUse }: { isInUse: () => Promise<boolean> },
): Promise<Storage | null> {
  if (config.MEDIA_STORAGE === 'none') return null;
  const directory = path.resolve(config.DATA_DIR, 'media');
  const spoolDir = path.join(directory, '.spool');
  // The libraries of the vendors are the largest of our dependencies: each is loaded only when it is used.
  if (config.S3_BUCKET) {
    const { createS3Storage } = await import('./s3.ts');
    const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
    return createS3Storage({
      bucket: config.S3_BUCKET,
      spoolDir,
      region: config.S3_REGION,
      endpoint: config.S3_ENDPOINT,
      forcePathStyle: config.S3_FORCE_PATH_STYLE,
      credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined,
      serverSideEncryption: config.S3_SERVER_SIDE_ENCRYPTION,
    });
  }
  if (config.GCS_BUCKET) {
    const { createGcsStorage } = await import('./gcs.ts');
    return createGcsStorage({
      bucket: config.GCS_BUCKET,
      spoolDir,
      apiEndpoint: config.GCS_API_ENDPOINT,
      projectId: config.GCS_PROJECT_ID,
    });
  }
  return createDiskStorage({ directory, isInUse });
}
