import type { IncomingMessage } from 'node:http';
import { MediaRejected } from '@posthorn/core/media/media-rejected.ts';

/**
 * The bytes of a request with media, with one limit on all of them: skipped parts (the file of another field,
 * blanks between base64 characters) have no limit of their own, and a chunked request states no length.
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
