import { Storage as GoogleStorage } from '@google-cloud/storage';
import { makeFolder } from '../process/make-folder.ts';
import { createGcsReads } from './gcs-read.ts';
import { type Storage, StorageError } from './storage.ts';

/** Above this the upload is resumable: a broken connection then costs a chunk and not the file. */
const RESUMABLE_FROM_BYTES = 5 * 1024 * 1024;
/** A multiple of 256 KiB, as the service asks for. It is held in memory until it is confirmed. */
const CHUNK_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/**
 * Objects in a bucket of Google Cloud Storage. Credentials come from where Google's libraries look for them
 * (GOOGLE_APPLICATION_CREDENTIALS, the machine's own account). With `apiEndpoint`, any server that speaks
 * the same API, without credentials.
 */
export async function createGcsStorage(options: {
  bucket: string;
  spoolDir: string;
  apiEndpoint?: string | undefined;
  projectId?: string | undefined;
  /** The idle timeout of a read: see {@link createGcsReads}. */
  idleTimeoutMs?: number;
}): Promise<Storage> {
  makeFolder(options.spoolDir);
  const client = new GoogleStorage({
    ...(options.apiEndpoint ? { apiEndpoint: options.apiEndpoint } : {}),
    ...(options.projectId ? { projectId: options.projectId } : {}),
    timeout: TIMEOUT_MS,
    retryOptions: { autoRetry: true, maxRetries: 3, totalTimeout: 120 },
  });
  const bucket = client.bucket(options.bucket);
  const reads = createGcsReads({
    baseUrl: client.baseUrl,
    bucket: options.bucket,
    // A self-hosted server is asked without credentials, as the library does.
    authorize: async (url) =>
      options.apiEndpoint ? {} : Object.fromEntries(await client.authClient.getRequestHeaders(url)),
    ...(options.idleTimeoutMs ? { idleTimeoutMs: options.idleTimeoutMs } : {}),
  });

  return {
    name: 'gcs',
    spoolDir: options.spoolDir,
    writeMemoryBytes: 2 * CHUNK_BYTES,
    async put(key, file, { mimeType }) {
      const resumable = file.sizeBytes > RESUMABLE_FROM_BYTES;
      try {
        await bucket.upload(file.path, {
          destination: key,
          resumable,
          ...(resumable ? { chunkSize: CHUNK_BYTES } : {}),
          // Node computes MD5 natively; the library's CRC32C is JavaScript.
          validation: 'md5',
          // A key is written once, which also makes the request safe to repeat.
          preconditionOpts: { ifGenerationMatch: 0 },
          metadata: { contentType: mimeType, cacheControl: 'private, max-age=0' },
        });
      } catch (cause) {
        // A repeat of a request whose answer was lost: the object exists, and keys are never reused.
        if (statusOf(cause) === 412) return;
        throw new StorageError('the object could not be stored', { cause });
      }
    },
    open: reads.open,
    async remove(key) {
      try {
        await bucket.file(key).delete();
      } catch (cause) {
        if (statusOf(cause) === 404) return reads.requireBucket();
        throw new StorageError('the object could not be removed', { cause });
      }
    },
    close: () => reads.close(),
  };
}

function statusOf(err: unknown): number | undefined {
  const code = (err as { code?: unknown }).code;
  return typeof code === 'number' ? code : undefined;
}
