/** Media between us and the network: streamed, never held in memory as a whole. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type InboundMedia,
  type OutboundMedia,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import {
  askGraph,
  type GraphAddress,
  GraphRefused,
  GraphUnreachable,
  graphUrl,
  readGraph,
} from '@posthorn/core/network/graph-api.ts';
import { request } from 'undici';
import { z } from 'zod/v4';

/** An upload of which the network takes nothing for this long, or whose answer takes longer, fails. */
const UPLOAD_IDLE_MS = 120_000;
/** A download without a byte from the network for this long fails. */
const IDLE_MS = 20_000;
const uploaded = z.object({ id: z.string() });
const located = z.object({ url: z.string() });

export interface MediaAccess {
  graph: GraphAddress;
  token: string;
  phoneNumberId: string;
  /** Aborts what is under way. */
  ended?: AbortSignal;
}

/**
 * Uploads the bytes, and answers the network's id of them, which lives for 30 days. It goes on for as long as the network
 * takes some. Throws as `askGraph`.
 */
export async function uploadMedia(
  { graph, token, phoneNumberId, ended }: MediaAccess,
  media: OutboundMedia,
  { idleMs = UPLOAD_IDLE_MS } = {},
): Promise<string> {
  const boundary = `posthorn-${randomUUID()}`;
  const name = media.fileName.replace(/[^\w .-]/g, '_') || 'file';
  const head = [
    fieldOf(boundary, 'messaging_product', 'whatsapp'),
    fieldOf(boundary, 'type', media.mimeType),
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n`,
    `content-type: ${media.mimeType}\r\n\r\n`,
  ].join('');
  const tail = `\r\n--${boundary}--\r\n`;
  const bytes = await media.open();
  let ownFailure: unknown;
  bytes.once('error', (err) => {
    ownFailure = err;
  });
  const idle = new AbortController();
  const idling = setTimeout(() => idle.abort(), idleMs);
  try {
    const answer = await request(graphUrl(graph, `/${phoneNumberId}/media`), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(Buffer.byteLength(head) + media.sizeBytes + Buffer.byteLength(tail)),
      },
      body: Readable.from(parts(head, bytes, tail, () => void idling.refresh())),
      signal: ended ? AbortSignal.any([ended, idle.signal]) : idle.signal,
    });
    return uploaded.parse(readGraph(answer.statusCode, await answer.body.text())).id;
  } catch (cause) {
    if (cause instanceof GraphRefused || cause === ownFailure) throw cause;
    // An upload without an answer has reached nobody, whatever came in place of it, so it may be repeated.
    throw new GraphUnreachable(false, 'the media could not be uploaded', { cause });
  } finally {
    clearTimeout(idling);
    bytes.destroy();
  }
}

async function* parts(head: string, bytes: Readable, tail: string, onTaken: () => void) {
  yield Buffer.from(head);
  for await (const chunk of bytes) {
    yield chunk;
    onTaken();
  }
  yield Buffer.from(tail);
}

function fieldOf(boundary: string, name: string, value: string): string {
  return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

/** Where the network keeps media; no list of its hosts is published. */
const MEDIA_HOST = 'lookaside.fbsbx.com';

/** Opens received media. Throws SendRefused `media_invalid`, SendUnavailable, or GraphRefused. */
export async function downloadMedia(access: MediaAccess, media: InboundMedia): Promise<Readable> {
  const { ref } = media;
  if (typeof ref !== 'string' || !/^[\w-]{1,200}$/.test(ref)) throw new SendRefused('media_invalid');
  // The address lives for five minutes, so it is asked for each time.
  const path = `/${ref}?phone_number_id=${encodeURIComponent(access.phoneNumberId)}`;
  const found = await askGraph(access.graph, { method: 'GET', path, token: access.token }).catch((cause) => {
    if (cause instanceof GraphUnreachable)
      throw new SendUnavailable('the network did not say where the media is', { cause });
    throw cause;
  });
  const url = new URL(located.parse(found).url);
  // Our token goes to no host that a message names.
  if (!isMediaHost(url, access.graph)) throw new SendRefused('media_invalid');
  return openUrl(url, access);
}

function isMediaHost(url: URL, { url: base }: GraphAddress): boolean {
  return (url.protocol === 'https:' && url.host === MEDIA_HOST) || url.origin === new URL(base).origin;
}

async function openUrl(url: URL, { token, ended }: MediaAccess): Promise<Readable> {
  const asked = {
    // The network answers with an error page to whoever does not say who asks.
    headers: { authorization: `Bearer ${token}`, 'user-agent': 'posthorn' },
    headersTimeout: IDLE_MS,
    bodyTimeout: IDLE_MS,
    ...(ended ? { signal: ended } : {}),
  };
  const { statusCode, body } = await request(url, asked).catch((cause) => {
    throw new SendUnavailable('the media could not be reached', { cause });
  });
  // It may break before anybody reads it, and is an error of its reader then as well.
  body.on('error', () => undefined);
  if (statusCode === 200) return body;
  body.destroy();
  // A 404 as well: the network knows the media, or it would have given no address, and wants to be asked for a new one.
  throw new SendUnavailable(`the media download failed: ${statusCode}`);
}
