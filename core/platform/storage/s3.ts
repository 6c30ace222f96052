import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { makeFolder } from '../process/make-folder.ts';
import { PART_BYTES, putInParts, readPart } from './s3-multipart.ts';
import { type Storage, StorageError, StorageMissing } from './storage.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** Without a byte in either direction; a slow transfer may take as long as it needs. */
const IDLE_TIMEOUT_MS = 20_000;

interface S3Options {
  bucket: string;
  spoolDir: string;
  region: string;
  endpoint?: string | undefined;
  /** The bucket in the path and not in the host name. */
  forcePathStyle: boolean;
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  serverSideEncryption?: 'AES256' | 'aws:kms' | undefined;
  idleTimeoutMs?: number;
}

/**
 * Objects in a bucket of S3, or of any server that speaks its API (`endpoint`). Without `credentials` they come from
 * where the AWS SDK looks for them: AWS_ACCESS_KEY_ID, the files in ~/.aws, the machine's own role.
 */
export async function createS3Storage(options: S3Options): Promise<Storage> {
  makeFolder(options.spoolDir);
  const client = createClient(options);

  function objectOf(key: string): { Bucket: string; Key: string } {
    // Without a key the SDK asks for the bucket itself, which a removal would then remove.
    if (key === '') throw new StorageError('not a key of ours');
    return { Bucket: options.bucket, Key: key };
  }

  return {
    name: 's3',
    spoolDir: options.spoolDir,
    writeMemoryBytes: 2 * PART_BYTES,
    async put(key, { path, sizeBytes }, { mimeType }) {
      let handle: FileHandle | undefined;
      try {
        const target = {
          ...objectOf(key),
          ContentType: mimeType,
          CacheControl: 'private, max-age=0',
          ServerSideEncryption: options.serverSideEncryption,
        };
        handle = await open(path, 'r');
        const file = { handle, sizeBytes };
        if (sizeBytes > PART_BYTES) return await putInParts(client, target, file);
        const Body = await readPart(file, 0, Buffer.allocUnsafe(sizeBytes));
        await client.send(new PutObjectCommand({ ...target, Body }));
      } catch (cause) {
        throw failure('the object could not be stored', cause);
      } finally {
        await handle?.close();
      }
    },
    async open(key, range) {
      try {
        const Range = range && `bytes=${range.start}-${range.end}`;
        const { Body } = await client.send(new GetObjectCommand({ ...objectOf(key), Range }));
        return Body as Readable;
      } catch (cause) {
        if (isMissing(cause)) throw new StorageMissing('no such object', { cause });
        throw failure('the object could not be read', cause);
      }
    },
    async remove(key) {
      try {
        await client.send(new DeleteObjectCommand(objectOf(key)));
      } catch (cause) {
        // S3 itself answers as if there had been one, others do not.
        if (!isMissing(cause)) throw failure('the object could not be removed', cause);
      }
    },
    async close() {
      client.destroy();
    },
  };
}

function createClient(options: S3Options): S3Client {
  return new S3Client({
    region: options.region,
    forcePathStyle: options.forcePathStyle,
    ...(options.endpoint ? { endpoint: options.endpoint } : {}),
    ...(options.credentials ? { credentials: options.credentials } : {}),
    retryMode: 'standard',
    maxAttempts: 3,
    // Every body is signed with its SHA-256 already, and not every vendor takes checksums beside that.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The SDK waits 6 s for a server that does not answer it, and opens a connection for each such request.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
      // A download holds its connection for as long as its reader takes: with the SDK's limit of 50, that many slow
      // readers would stop all uploads.
      httpAgent: { maxSockets: Number.POSITIVE_INFINITY },
      httpsAgent: { maxSockets: Number.POSITIVE_INFINITY },
    },
  });
}

function isMissing(err: unknown): boolean {
  if (!(err instanceof S3ServiceException)) return false;
  return err.$metadata.httpStatusCode === 404 && err.name !== 'NoSuchBucket';
}

/** A bucket in another region refuses everything, and says where it is. */
function failure(what: string, cause: unknown): StorageError {
  const region =
    cause instanceof S3ServiceException ? cause.$response?.headers['x-amz-bucket-region'] : undefined;
  const wrongRegion = region && (cause as S3ServiceException).$metadata.httpStatusCode === 301;
  return new StorageError(wrongRegion ? `${what}: the bucket is in ${region} (S3_REGION)` : what, { cause });
}
