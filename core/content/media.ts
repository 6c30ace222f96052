import {
  audioBody,
  documentBody,
  gifBody,
  imageBody,
  ptvBody,
  stickerBody,
  videoBody,
} from '@posthorn/contract/messaging/media-bodies.ts';
import type { MediaKind, MediaRecord } from '../media/media-port.ts';
import type { NewMessage } from './new-message.ts';
import { type Found, given, jidOf, rule } from './rule.ts';

interface MediaSend {
  to: string;
  quoted_id?: string | undefined;
  mentions?: string[] | undefined;
}

/** The media was looked up or stored before the content is made. */
export function mediaOf(found: Found): MediaRecord {
  if (!found.media) throw new Error('a send with media was prepared without it');
  return found.media;
}

function withMedia(
  type: MediaKind,
  send: MediaSend,
  found: Found,
  content: Record<string, unknown> = {},
): NewMessage {
  const media = mediaOf(found);
  return {
    type,
    chatJid: jidOf(send.to),
    content: given({ ...content, mentions: send.mentions }),
    quotedId: send.quoted_id,
    mediaId: media.mediaId,
    mediaHash: media.sha256,
  };
}

const onlyIf = (flag: boolean) => (flag ? true : undefined);

/** Content `{caption?, view_once?, mentions?}`. */
export const image = rule({
  body: imageBody.json,
  form: imageBody.form,
  media: () => 'image',
  toMessage: (body, found) =>
    withMedia('image', body, found, { caption: body.caption, view_once: onlyIf(body.view_once) }),
});

/** As image. */
export const video = rule({
  body: videoBody.json,
  form: videoBody.form,
  media: () => 'video',
  toMessage: (body, found) =>
    withMedia('video', body, found, { caption: body.caption, view_once: onlyIf(body.view_once) }),
});

/** Content `{ptt, view_once?, mentions?}`: a voice note unless ptt is false (MED-18). */
export const audio = rule({
  body: audioBody.json,
  form: audioBody.form,
  media: () => 'audio',
  toMessage: (body, found) =>
    withMedia('audio', body, found, { ptt: body.ptt, view_once: onlyIf(body.view_once) }),
});

/** Content `{file_name, caption?, mentions?}`; without a file_name, the one of the media. */
export const document = rule({
  body: documentBody.json,
  form: documentBody.form,
  media: () => 'document',
  toMessage: (body, found) =>
    withMedia('document', body, found, {
      file_name: body.file_name || mediaOf(found).fileName || undefined,
      caption: body.caption,
    }),
});

/** Content `{mentions?}`. */
export const sticker = rule({
  body: stickerBody.json,
  form: stickerBody.form,
  media: () => 'sticker',
  toMessage: (body, found) => withMedia('sticker', body, found),
});

/** A round video. Content `{mentions?}`. */
export const ptv = rule({
  body: ptvBody.json,
  form: ptvBody.form,
  media: () => 'ptv',
  toMessage: (body, found) => withMedia('ptv', body, found),
});

/** A looping animation. Content `{caption?, mentions?}`. */
export const gif = rule({
  body: gifBody.json,
  form: gifBody.form,
  media: () => 'gif',
  toMessage: (body, found) => withMedia('gif', body, found, { caption: body.caption }),
});
