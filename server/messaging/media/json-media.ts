import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { apiError } from '@posthorn/contract/api-error.ts';
import { JSON_BODY_MAX_BYTES, MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { createBase64Decoder } from '@posthorn/core/media/base64-decoder.ts';
import { MediaRejected } from '@posthorn/core/media/media-rejected.ts';
import type { Spool, SpooledFile } from '@posthorn/core/media/spool.ts';
import { notUtf8 } from '../../http/read-json.ts';
import { createMediaScanner } from './media-scanner.ts';
import { upTo } from './up-to.ts';

export interface MediaJson {
  /** The text, with a placeholder for the value of `media_base64`. */
  text: string;
  file: { spooled: SpooledFile; mimeType: string } | null;
}

/** The largest file in base64, with the most line breaks and escapes possible, plus the fields. */
const BODY_MAX_BYTES = 2 * MEDIA_MAX_BYTES + JSON_BODY_MAX_BYTES;

/**
 * Reads a JSON body and decodes its `media_base64` into the spool while it arrives: 64 MB in base64 cost the
 * memory of a chunk, where the string, its parsed copy and its bytes would cost 200 MB. The rest of the body
 * is kept as text, up to the size of any other JSON body. Throws errors of the decoder and the spool, and
 * ApiError 413 PAYLOAD_TOO_LARGE and 400 BAD_REQUEST; the file is then removed, and the rest of the request stays
 * unread.
 */
export async function readMediaJson(
  { spool, openMedia }: { spool: Spool; openMedia: () => void },
  request: IncomingMessage,
): Promise<MediaJson> {
  const scanner = createMediaScanner();
  const decoder = createBase64Decoder();
  const kept: string[] = [];
  let keptBytes = 0;
  let sink: PassThrough | null = null;
  let spooling: Promise<SpooledFile> | null = null;
  let hadText = false;
  const utf8 = new TextDecoder('utf-8', { fatal: true });

  const keep = (bytes: Uint8Array, stream = true) => {
    keptBytes += bytes.length;
    if (keptBytes > JSON_BODY_MAX_BYTES) throw apiError('PAYLOAD_TOO_LARGE');
    try {
      kept.push(utf8.decode(bytes, { stream }));
    } catch {
      throw notUtf8();
    }
  };

  async function pass(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    if (!sink) {
      openMedia();
      sink = new PassThrough({ highWaterMark: 256 * 1024 });
      sink.on('error', () => undefined);
      spooling = spool.write(sink.iterator({ destroyOnReturn: false }));
      // Awaited below; until then its rejection has no handler.
      spooling.catch(() => undefined);
    }
    if (sink.write(bytes)) return;
    const target = sink;
    const drained = new Promise((resolve) => target.once('drain', resolve));
    // A failed spool reads no more, so `drain` would never come.
    await Promise.race([drained, spooling]);
  }

  try {
    for await (const chunk of upTo(request, BODY_MAX_BYTES)) {
      for (const piece of scanner.scan(chunk)) {
        if (piece.kind === 'json') keep(piece.bytes);
        else {
          hadText = true;
          await pass(decoder.push(piece.text));
        }
      }
    }
    if (scanner.found()) {
      await pass(decoder.end());
      // An empty data URI: the field is not empty, but it contains no media.
      if (hadText && !sink) throw new MediaRejected('empty');
      (sink as PassThrough | null)?.end();
    }
    const spooled = spooling ? await (spooling as Promise<SpooledFile>) : null;
    keep(new Uint8Array(), false);
    return { text: kept.join(''), file: spooled && { spooled, mimeType: decoder.mimeType() } };
  } catch (err) {
    (sink as PassThrough | null)?.destroy(err as Error);
    const spooled = await (spooling as Promise<SpooledFile> | null)?.catch(() => null);
    await spooled?.discard();
    throw err;
  }
}
