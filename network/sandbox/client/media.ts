/** Transfers media between the driver and the sandbox's CDN: streamed, never held in memory as a whole. */
import { Readable } from 'node:stream';
import {
  type InboundMedia,
  type OutboundMedia,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { fetch } from '@posthorn/core/platform/http/fetch.ts';
import { z } from 'zod/v4';
import type { MediaInfo } from '../families/media.ts';

const stored = z.object({ handle: z.string(), size_bytes: z.int(), sha256: z.string() });

/** The CDN has the same host as the WebSocket: `ws://host:port/ws` has it at `http://host:port/cdn/`. */
export function cdnUrlOf(socketUrl: string): string {
  const url = new URL('/cdn/', socketUrl);
  url.protocol = url.protocol === 'wss:' ? 'https:' : 'http:';
  return url.href;
}

/** Uploads a message's media and returns its description for the envelope. Throws as `send` does. */
export async function uploadMedia(
  deps: { cdnUrl: string; token: string; timeoutMs: number },
  media: OutboundMedia,
): Promise<MediaInfo> {
  const response = await reach(deps.cdnUrl, {
    method: 'POST',
    headers: { authorization: `Bearer ${deps.token}` },
    body: Readable.toWeb(await media.open()) as RequestInit['body'],
    duplex: 'half',
    signal: AbortSignal.timeout(deps.timeoutMs),
  } as RequestInit);
  if (response.status === 413) throw new SendRefused('media_too_large');
  if (!response.ok) throw new SendUnavailable(`the media upload failed: ${response.status}`);
  const { handle, size_bytes, sha256 } = stored.parse(await response.json());
  const { mimeType, fileName, widthPx, heightPx, durationS, waveform, thumbnail, animated } = media;
  const more = { width: widthPx, height: heightPx, duration_s: durationS, waveform, thumbnail, animated };
  return {
    handle,
    mime_type: mimeType,
    file_name: fileName,
    size_bytes,
    sha256,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
  };
}

/**
 * A handle becomes part of an address: anything else is refused, or a message could name the host that gets
 * our token.
 */
const HANDLE = /^[A-Za-z0-9_-]{1,128}$/;

/** Opens received media. Throws SendRefused `media_expired` or `media_invalid`, or SendUnavailable. */
export async function downloadMedia(
  deps: { cdnUrl: string; token: string },
  media: InboundMedia,
): Promise<Readable> {
  if (typeof media.ref !== 'string' || !HANDLE.test(media.ref)) throw new SendRefused('media_invalid');
  const response = await reach(new URL(media.ref, deps.cdnUrl), {
    headers: { authorization: `Bearer ${deps.token}` },
    redirect: 'error',
  });
  if (response.status === 404 || response.status === 410) throw new SendRefused('media_expired');
  if (!response.ok || !response.body)
    throw new SendUnavailable(`the media download failed: ${response.status}`);
  return Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]);
}

async function reach(url: string | URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    throw new SendUnavailable('the media server of the network could not be reached', { cause });
  }
}
