import type { Readable } from 'node:stream';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { faultOf, type Outbound } from '../platform/http/outbound-http.ts';
import { MediaRejected } from './media-rejected.ts';

/** The fetch did not give media; `message` may reach the user and names no address. */
export class FetchFailed extends Error {
  override name = 'FetchFailed';
}

export interface FetchedMedia {
  body: Readable;
  /** As the server says; null when it does not. */
  lengthBytes: number | null;
  declaredType: string;
  fileName: string;
}

const REDIRECTS_MAX = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADERS = {
  accept: '*/*',
  // A compressed body could unpack to any size.
  'accept-encoding': 'identity',
  'user-agent': 'posthorn-media/1',
};

/**
 * Gets media from an address that a user named. Every step of a chain of redirects is judged anew and
 * connects only to the address that was judged (outbound-http.ts); the length is refused before a byte is
 * read where the server says it, and `signal` bounds the whole of it. Throws {@link FetchFailed},
 * {@link MediaRejected} `too_large`, or what `signal` says.
 */
export async function fetchMedia(
  deps: { outbound: Outbound },
  address: string,
  signal: AbortSignal,
): Promise<FetchedMedia> {
  let url = parse(address);
  for (let redirects = 0; ; redirects += 1) {
    const { statusCode, headers, body } = await request(deps, url, signal);
    if (!REDIRECTS.has(statusCode)) {
      if (statusCode === 200) return accept(url, headers, body);
      discard(body);
      throw new FetchFailed(`the server answered ${statusCode}`);
    }
    discard(body);
    const location = headers.location;
    if (typeof location !== 'string') throw new FetchFailed('the server redirects to nowhere');
    if (redirects === REDIRECTS_MAX) throw new FetchFailed('too many redirects');
    url = parse(location, url);
  }
}

function parse(address: string, base?: URL): URL {
  const url = URL.parse(address, base?.href);
  if (!url) throw new FetchFailed('this is not a URL');
  // Sent nowhere: they would end in logs, and no media needs them.
  url.username = '';
  url.password = '';
  url.hash = '';
  return url;
}

async function request({ outbound }: { outbound: Outbound }, url: URL, signal: AbortSignal) {
  try {
    return await outbound.to(url).request({
      method: 'GET',
      origin: url.origin,
      path: url.pathname + url.search,
      headers: HEADERS,
      signal,
    });
  } catch (cause) {
    signal.throwIfAborted();
    const why =
      faultOf(cause) === 'blocked' ? 'this address is not allowed' : 'the server could not be reached';
    throw new FetchFailed(why, { cause });
  }
}

type Answer = Awaited<ReturnType<typeof request>>;

function accept(url: URL, headers: Answer['headers'], body: Answer['body']): FetchedMedia {
  const encoding = headerOf(headers, 'content-encoding');
  const length = Number(headerOf(headers, 'content-length') || 0);
  if (encoding !== '' && encoding !== 'identity') {
    discard(body);
    throw new FetchFailed('the server answered in an encoding that was not asked for');
  }
  if (length > MEDIA_MAX_BYTES) {
    discard(body);
    throw new MediaRejected('too_large');
  }
  return {
    body,
    lengthBytes: length > 0 ? length : null,
    declaredType: headerOf(headers, 'content-type'),
    fileName: dispositionName(headerOf(headers, 'content-disposition')) || pathName(url),
  };
}

function headerOf(headers: Answer['headers'], name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
}

/** The connection goes with the body: reading on only to keep it would be what a hostile server wants. */
function discard(body: Answer['body']): void {
  body.on('error', () => undefined);
  body.destroy();
}

function dispositionName(header: string): string {
  const extended = /filename\*\s*=\s*utf-8''([^;]+)/i.exec(header)?.[1];
  if (extended) return decode(extended.trim());
  return /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header)?.slice(1).find(Boolean) ?? '';
}

function pathName(url: URL): string {
  return decode(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
