import type { IncomingMessage } from 'node:http';
import { MediaRejected } from '@posthorn/core/media/media-rejected.ts';

/**
 * The bytes of a request with media, up to a bound that holds for all of them: what is passed over (the file of
 * another field, blanks between letters of base64) has no bound of its own, and a chunked request names no length.
 * Throws {@link MediaRejected} `too_large`; the request stays open for its answer.
 */
export async function* upTo(request: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) throw new MediaRejected('too_large');
    yield chunk as Buffer;
  }
}
