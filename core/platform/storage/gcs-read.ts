import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher, errors, request } from 'undici';
import { StorageError, StorageMissing } from './storage.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** Without a byte from the server; a reader may take as long as it needs. */
const IDLE_TIMEOUT_MS = 20_000;
const TRIES = 3;
const RETRY_MS = 250;

export interface GcsReads {
  /** Reads an object, or a part of it: see `Storage.open`. */
  open(key: string, range?: { start: number; end: number }): Promise<Dispatcher.ResponseData['body']>;
  /**
   * To be asked after a 404, with which the service tells of a bucket that is missing as it does of an object. Throws
   * {@link StorageError} unless the bucket is there.
   */
  requireBucket(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Reads objects of Google Cloud Storage without the vendor's library. When the service answers 429 or 5xx, the
 * library's stream of an object throws an error that no caller can catch, which ends the process; and it waits for
 * minutes for a server that hangs.
 */
export function createGcsReads(options: {
  /** The address of the JSON API, with its version. */
  baseUrl: string;
  bucket: string;
  /** The request headers that prove who asks. */
  authorize(url: string): Promise<Record<string, string>>;
  idleTimeoutMs?: number;
}): GcsReads {
  const idleTimeoutMs = options.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
  const dispatcher = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
  });

  /** `path` is below the bucket's list of objects. */
  async function ask(
    path: string,
    range?: { start: number; end: number } | undefined,
  ): Promise<Dispatcher.ResponseData> {
    const { baseUrl, bucket, authorize } = options;
    const url = `${baseUrl}/b/${encodeURIComponent(bucket)}/o${path}`;
    const answer = await request(url, {
      dispatcher,
      headers: {
        // An object that is stored compressed arrives as it is stored.
        'accept-encoding': 'gzip',
        'cache-control': 'no-store',
        ...(range ? { range: `bytes=${range.start}-${range.end}` } : {}),
        ...(await authorize(url)),
      },
    });
    // It may break before anybody reads it, and is an error of its reader then as well.
    answer.body.on('error', () => undefined);
    return answer;
  }

  async function requireBucket(): Promise<void> {
    const answer = await ask('?maxResults=1&fields=kind').catch((cause: Error) => {
      throw unreadable(cause);
    });
    answer.body.destroy();
    if (answer.statusCode === 404) throw unreadable(new Error(`there is no bucket ${options.bucket}`));
    if (isTemporary(answer.statusCode))
      throw unreadable(new Error(`the service answered ${answer.statusCode}`));
  }

  return {
    async open(key, range) {
      for (let nth = 1; ; nth += 1) {
        const answer = await ask(`/${encodeURIComponent(key)}?alt=media`, range).catch(
          (cause: Error) => cause,
        );
        if (answer instanceof Error) {
          // A server that hangs was given enough time.
          if (nth === TRIES || answer instanceof errors.HeadersTimeoutError) throw unreadable(answer);
        } else {
          const { statusCode, headers, body } = answer;
          if (statusCode === (range ? 206 : 200) && endIsTold(headers)) return body;
          body.destroy();
          if (statusCode === 404) {
            await requireBucket();
            throw new StorageMissing('no such object');
          }
          if (nth === TRIES || !isTemporary(statusCode))
            throw unreadable(new Error(`the service answered ${statusCode}`));
        }
        await delay(RETRY_MS * 2 ** (nth - 1) * (0.5 + Math.random()));
      }
    },
    requireBucket,
    close: () => dispatcher.destroy(),
  };
}

function unreadable(cause: Error): StorageError {
  return new StorageError('the object could not be read', { cause });
}

/** A connection that is cut would otherwise pass for the end of the object. */
function endIsTold(headers: Dispatcher.ResponseData['headers']): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function isTemporary(statusCode: number): boolean {
  return statusCode === 408 || statusCode === 429 || statusCode >= 500;
}
