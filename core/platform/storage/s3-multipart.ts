import type { FileHandle } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  HeadObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';

/** The smallest part that S3 takes, the last one of an object aside. */
export const PART_BYTES = 5 * 1024 * 1024;

/**
 * Stores a large file in parts: a broken connection then costs a part and not the file. One part at a time is held in
 * memory. After any failure the stored parts are removed again.
 */
export async function putInParts(
  client: S3Client,
  target: CreateMultipartUploadCommandInput,
  file: { handle: FileHandle; sizeBytes: number },
): Promise<void> {
  const { Bucket, Key } = target;
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
  const upload = { Bucket, Key, UploadId };
  try {
    const Parts: CompletedPart[] = [];
    const buffer = Buffer.allocUnsafe(PART_BYTES);
    for (let position = 0; position < file.sizeBytes; position += PART_BYTES) {
      const PartNumber = Parts.length + 1;
      const Body = await readPart(file, position, buffer);
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
      Parts.push({ PartNumber, ETag });
    }
    await complete(client, upload, Parts, file.sizeBytes);
  } catch (err) {
    // The bucket's rule on unfinished uploads removes what this cannot (docs/operating.md).
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw err;
  }
}

type Upload = { Bucket: string | undefined; Key: string | undefined; UploadId: string | undefined };

async function complete(
  client: S3Client,
  upload: Upload,
  Parts: CompletedPart[],
  sizeBytes: number,
): Promise<void> {
  try {
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  } catch (err) {
    if ((err as Error).name !== 'NoSuchUpload') throw err;
    // A repeat of a request whose answer was lost finds the upload ended. Keys are never reused.
    const { Bucket, Key } = upload;
    const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket, Key }));
    if (ContentLength !== sizeBytes) throw err;
  }
}

/** The bytes of a file from `position` on, as many as fit. The result shares the memory of `buffer`. */
export async function readPart(
  { handle, sizeBytes }: { handle: FileHandle; sizeBytes: number },
  position: number,
  buffer: Buffer,
): Promise<Buffer> {
  const length = Math.min(buffer.length, sizeBytes - position);
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) throw new Error('the file is shorter than it was said to be');
    filled += bytesRead;
  }
  return buffer.subarray(0, length);
}
