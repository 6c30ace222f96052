import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { AnswerHeaders } from '../../http/call.ts';
import { parseRange } from './byte-range.ts';

export interface SentFile {
  mimeType: string;
  fileName: string;
  sizeBytes: number;
  /** Hex; the entity tag. */
  sha256: string;
  /** Both ends included. Throws the error to answer instead of the file. */
  open(range: { start: number; end: number } | undefined): Promise<Readable>;
}

interface Taken {
  request: IncomingMessage;
  response: ServerResponse;
  headers: AnswerHeaders;
}

/** Prevents a stranger's file of any type from running as a page of ours. */
const SAFETY = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

/**
 * Answers with a file: 200, one range of it as 206, 416 for a range beyond it, 304 if the client has it.
 * `open` is called before the headers are written, so its errors can still become an answer; `take` then
 * takes over the response. HEAD reads nothing.
 */
export async function sendFile(
  incoming: { method: string; headers: IncomingMessage['headers'] },
  file: SentFile,
  take: () => Taken,
): Promise<undefined> {
  const tag = `"${file.sha256}"`;
  const always = {
    etag: tag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, max-age=0, must-revalidate',
    ...SAFETY,
  };
  if (matches(incoming.headers['if-none-match'], tag)) {
    finish(take(), 304, always);
    return undefined;
  }
  const isHead = incoming.method === 'HEAD';
  const ifRange = incoming.headers['if-range'];
  // Ranges are for GET only (RFC 9110 14.2).
  const isWhole = isHead || (typeof ifRange === 'string' && ifRange !== tag);
  const range = isWhole ? undefined : parseRange(incoming.headers.range, file.sizeBytes);
  if (range === 'beyond') {
    finish(take(), 416, { ...always, 'content-range': `bytes */${file.sizeBytes}`, 'content-length': 0 });
    return undefined;
  }
  const source = isHead ? null : await file.open(range);
  const { response, headers } = take();
  const head = {
    ...headers,
    ...always,
    'content-type': file.mimeType,
    'content-disposition': inlineAs(file.fileName),
    'content-length': range ? range.end - range.start + 1 : file.sizeBytes,
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${file.sizeBytes}` } : {}),
  };
  // The client left while the file was being opened: `close` was already emitted.
  if (response.destroyed) {
    source?.destroy();
    return undefined;
  }
  response.writeHead(range ? 206 : 200, head);
  if (!source) response.end();
  else stream(source, response);
  return undefined;
}

/** By hand: `pipe` leaks the source if the client leaves and hangs if the source fails. */
function stream(source: Readable, response: ServerResponse): void {
  // The length was announced: a short answer must look broken, not finished.
  source.on('error', () => response.destroy());
  response.on('close', () => source.destroy());
  source.pipe(response);
}

function finish({ response, headers }: Taken, status: number, more: Record<string, string | number>): void {
  response.writeHead(status, { ...headers, ...more });
  response.end();
}

function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === tag);
}

/** `inline; filename="..."`, plus a UTF-8 form if the name is not ASCII (RFC 6266). */
function inlineAs(fileName: string): string {
  const ascii = fileName.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '_');
  if (ascii === fileName) return `inline; filename="${ascii}"`;
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `inline; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
