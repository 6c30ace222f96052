import type { InboundMedia, InboundMessage } from '@posthorn/core/network/driver.ts';
import { numberOf } from './numbers.ts';
import type { WireMedia } from './wire-types.ts';

/** The part of a message that depends on its kind. */
export type Body = Pick<InboundMessage, 'type' | 'content'> & { media?: InboundMedia };

/** The purpose from which a media key is derived; each has its own keys. */
export type MediaUse = 'image' | 'video' | 'audio' | 'document';

const USES: Record<string, MediaUse> = {
  image: 'image',
  sticker: 'image',
  video: 'video',
  ptv: 'video',
  gif: 'video',
  audio: 'audio',
  document: 'document',
};

/** The purpose used to encrypt media of a content type. */
export function useOf(type: string): MediaUse {
  return USES[type] ?? 'document';
}

/** The handle passed back to `download`. Bytes are base64: it may be stored as JSON. */
export interface MediaRef {
  use: MediaUse;
  directPath: string;
  mediaKey: string;
  /** Hex SHA-256 of the plain bytes; bytes with another hash were altered. */
  fileSha256: string;
  /** The message with this media, whose sender may upload it again. */
  of?: { chat: string; id: string };
}

const PATH = /^\/[\x21-\x7e]{1,2000}$/;

/** The handle of received media; null if its path or key is missing. */
export function mediaRef(type: string, media: WireMedia): InboundMedia | null {
  const directPath = media.directPath || pathOf(media.url);
  if (!directPath || !PATH.test(directPath) || media.mediaKey?.length !== 32) return null;
  const ref: MediaRef = {
    use: useOf(type),
    directPath,
    mediaKey: Buffer.from(media.mediaKey).toString('base64'),
    fileSha256: Buffer.from(media.fileSha256 ?? []).toString('hex'),
  };
  return {
    ref,
    mimeType: media.mimetype || 'application/octet-stream',
    fileName: media.fileName ?? '',
    sizeBytes: numberOf(media.fileLength) ?? 0,
    ...(type === 'sticker' && media.isAnimated ? { animated: true } : {}),
  };
}

function pathOf(url: string | null | undefined): string | null {
  if (!url || !URL.canParse(url)) return null;
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
