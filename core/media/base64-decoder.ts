import { MediaRejected } from './media-rejected.ts';

/**
 * Decodes base64 that arrives in pieces: a data URI (`data:<mime>;base64,<data>`) or bare (MED-4). Line breaks and
 * both alphabets are taken, as senders differ. Throws {@link MediaRejected}
 * `not_base64`.
 */
export interface Base64Decoder {
  /** The bytes that are complete so far. */
  push(text: string): Buffer;
  /** The last bytes; throws when the text ended in the middle of something. */
  end(): Buffer;
  /** The type that the data URI names; '' for bare base64. Known once bytes have come. */
  mimeType(): string;
}

const HEADER_MAX_CHARS = 256;
const PREFIX = 'data:';

export function createBase64Decoder(): Base64Decoder {
  /** Null once the data has begun. */
  let header: string | null = '';
  let mimeType = '';
  let carried = '';
  let padded = false;

  function beginData(text: string): string {
    header += text;
    const soFar = header!;
    if (!soFar.startsWith(PREFIX)) {
      if (soFar.length < PREFIX.length && PREFIX.startsWith(soFar)) return '';
      header = null;
      return soFar;
    }
    const comma = soFar.indexOf(',');
    if (comma < 0) {
      if (soFar.length > HEADER_MAX_CHARS) throw new MediaRejected('not_base64');
      return '';
    }
    const parts = soFar.slice(PREFIX.length, comma).split(';');
    if (parts.at(-1)!.trim().toLowerCase() !== 'base64') throw new MediaRejected('not_base64');
    mimeType = parts.slice(0, -1).join(';');
    header = null;
    return soFar.slice(comma + 1);
  }

  function decode(text: string): Buffer {
    if (/[^A-Za-z0-9+/\-_=\s]/.test(text)) throw new MediaRejected('not_base64');
    const solid = carried + (/\s/.test(text) ? text.replace(/\s+/g, '') : text);
    const whole = solid.length - (solid.length % 4);
    carried = solid.slice(whole);
    const ready = solid.slice(0, whole);
    if (ready === '') return Buffer.alloc(0);
    if (padded) throw new MediaRejected('not_base64');
    const padding = ready.indexOf('=');
    if (padding >= 0) {
      if (!/^==?$/.test(ready.slice(padding))) throw new MediaRejected('not_base64');
      padded = true;
    }
    return Buffer.from(ready, 'base64');
  }

  return {
    push: (text) => decode(header === null ? text : beginData(text)),
    end() {
      // A bare text shorter than the prefix, such as `da`, is still undecided.
      const rest = header === null ? '' : header;
      if (header?.startsWith(PREFIX)) throw new MediaRejected('not_base64');
      header = null;
      const bytes = decode(rest);
      if (carried === '') return bytes;
      // Without padding, as many senders leave it; one letter alone is no byte.
      if (padded || carried.length === 1 || carried.includes('=')) throw new MediaRejected('not_base64');
      return Buffer.concat([bytes, Buffer.from(carried, 'base64')]);
    },
    mimeType: () => mimeType,
  };
}
