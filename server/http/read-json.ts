import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { JSON_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { beforeFirst } from '@posthorn/core/platform/before-first.ts';
import { parseJson } from './parse-json.ts';

const JSON_TYPE = 'application/json';

/**
 * Reads the JSON body of a request; undefined if there is none. Rejects with ApiError: 400 BAD_REQUEST for
 * another content type, 413 PAYLOAD_TOO_LARGE, and the errors of `parseJson`.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'];
  if (type === undefined && isEmpty(request)) return undefined;
  if (!isJsonType(type))
    throw apiError('BAD_REQUEST', { message: 'the content type must be application/json' });
  return parseJson(await readText(request));
}

/**
 * Reads the text of a body of at most JSON_BODY_MAX_BYTES. Rejects with 413, with 400 if it is not UTF-8, and if the
 * client leaves.
 */
export async function readText(request: IncomingMessage): Promise<string> {
  const bytes = await readBytes(request, JSON_BODY_MAX_BYTES);
  if (!isUtf8(bytes)) throw notUtf8();
  return bytes.toString();
}

/** Decoded all the same, letters in another encoding would be sent as replacement characters. */
export function notUtf8(): ApiError {
  return apiError('BAD_REQUEST', { message: 'the body must be UTF-8' });
}

/** Reads a body of at most `maxBytes` as it comes. Rejects with 413, and if the client leaves. */
export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      reject(apiError('PAYLOAD_TOO_LARGE'));
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (err: Error | null): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', settle);
      if (err) reject(err);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        // The rest is discarded until the answer is sent; Node then closes a connection that is still
        // sending.
        settle(apiError('PAYLOAD_TOO_LARGE'));
        request.resume();
      }
    };
    const onEnd = (): void => settle(null);
    const onClose = (): void => settle(new Error('the client left before its request was complete'));
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', settle);
  });
}

/** Whether the headers say that no body follows. */
export function isEmpty({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

function isJsonType(type = ''): boolean {
  return type === JSON_TYPE || beforeFirst(type, ';').trim().toLowerCase() === JSON_TYPE;
}
