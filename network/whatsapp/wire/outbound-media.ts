/** Contents with media, whose bytes are already encrypted and uploaded. */
import type { OutboundMedia } from '@posthorn/core/network/driver.ts';
import { given } from './given.ts';
import type { WireMedia, WireMessage } from './wire-types.ts';

/** The address of the bytes, and the keys to decrypt them. */
export interface UploadedMedia {
  url: string;
  directPath: string;
  mediaKey: Uint8Array;
  mediaKeyTimestamp: number;
  fileSha256: Uint8Array;
  fileEncSha256: Uint8Array;
  fileLength: number;
  about: Pick<
    OutboundMedia,
    'mimeType' | 'fileName' | 'widthPx' | 'heightPx' | 'durationS' | 'waveform' | 'thumbnail' | 'animated'
  >;
}

/** The type that apps play as a voice note; they would offer others as a file. */
const VOICE_NOTE = 'audio/ogg; codecs=opus';

type Content = Record<string, unknown>;

export function mediaContent(kind: string, content: Content, media: UploadedMedia): WireMessage {
  const stored = fileOf(media);
  const { widthPx, heightPx, durationS, thumbnail, waveform, animated } = media.about;
  const size = given({ width: widthPx, height: heightPx });
  const preview = thumbnail === undefined ? {} : { jpegThumbnail: Buffer.from(thumbnail, 'base64') };
  const seconds = durationS === undefined ? {} : { seconds: Math.max(1, Math.round(durationS)) };
  const caption = typeof content.caption === 'string' ? { caption: content.caption } : {};
  const once = content.view_once === true;
  switch (kind) {
    case 'image': {
      const imageMessage = {
        ...stored,
        ...caption,
        ...size,
        ...preview,
        ...(once ? { viewOnce: true } : {}),
      };
      return once ? { viewOnceMessageV2: { message: { imageMessage } } } : { imageMessage };
    }
    case 'video': {
      const shown = { ...stored, ...caption, ...size, ...seconds, ...preview };
      const videoMessage = { ...shown, ...(once ? { viewOnce: true } : {}) };
      return once ? { viewOnceMessageV2: { message: { videoMessage } } } : { videoMessage };
    }
    case 'gif':
      return { videoMessage: { ...stored, ...caption, ...size, ...seconds, ...preview, gifPlayback: true } };
    case 'ptv':
      return { ptvMessage: { ...stored, ...size, ...seconds, ...preview } };
    case 'audio':
      return audioOf(content, { ...stored, ...seconds }, waveform);
    case 'sticker':
      return { stickerMessage: { ...stored, ...size, isAnimated: animated === true } };
    default:
      return documentOf(content, { ...stored, ...preview }, media.about.fileName);
  }
}

/** A voice note includes its waveform, and a view-once one is wrapped as apps do it. */
function audioOf(content: Content, stored: WireMedia, waveform: string | undefined): WireMessage {
  const ptt = content.ptt !== false;
  const once = content.view_once === true;
  const audioMessage: WireMedia = {
    ...stored,
    ...(ptt ? { mimetype: VOICE_NOTE } : {}),
    ptt,
    ...(ptt && waveform !== undefined ? { waveform: Buffer.from(waveform, 'base64') } : {}),
    ...(once ? { viewOnce: true } : {}),
  };
  return once ? { viewOnceMessageV2Extension: { message: { audioMessage } } } : { audioMessage };
}

function documentOf(content: Content, stored: WireMedia, ownName: string): WireMessage {
  const fileName = typeof content.file_name === 'string' ? content.file_name : ownName;
  const documentMessage: WireMedia = { ...stored, fileName, title: fileName };
  if (typeof content.caption !== 'string') return { documentMessage };
  return {
    documentWithCaptionMessage: {
      message: { documentMessage: { ...documentMessage, caption: content.caption } },
    },
  };
}

function fileOf({ about, ...file }: UploadedMedia): WireMedia {
  return { ...file, mimetype: about.mimeType };
}
