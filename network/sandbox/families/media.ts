/** Families with media. The bytes are on the network's CDN; the content has their handle. */
import { z } from 'zod/v4';
import type { World } from '../state/world.ts';
import { type ContentFamily, type Entering, mentions } from './family.ts';

/** An envelope's description of its media. */
export const mediaInfo = z.looseObject({
  handle: z.string(),
  mime_type: z.string().min(1),
  file_name: z.string().default(''),
  size_bytes: z.int().min(0),
  sha256: z.string().optional(),
  animated: z.boolean().optional(),
});
export type MediaInfo = z.infer<typeof mediaInfo>;

const caption = z.string().optional();
const viewOnce = z.boolean().optional();

/** The MIME types a phone can show for each type; on the real networks a mismatch is an unusable message. */
const ACCEPTED: Record<string, RegExp> = {
  image: /^image\/[\w.+-]+(;|$)/,
  video: /^video\/[\w.+-]+(;|$)/,
  ptv: /^video\/[\w.+-]+(;|$)/,
  gif: /^(video\/[\w.+-]+|image\/gif)(;|$)/,
  audio: /^audio\/[\w.+-]+(;|$)/,
  sticker: /^image\/webp$/,
  document: /./,
};
const VOICE_NOTE = /^audio\/ogg(;|$)/;

/** Checks that the media exists and that phones can show it as this type. */
export function admitMedia(world: World, entering: Entering): string | Entering {
  const media = entering.content.media as MediaInfo;
  if (!world.cdn.has(media.handle)) return 'media_not_uploaded';
  if (!ACCEPTED[entering.type]!.test(media.mime_type)) return 'unsupported_media';
  if (entering.content.ptt === true && !VOICE_NOTE.test(media.mime_type)) return 'unsupported_media';
  return entering;
}

function mediaFamily(
  fields: Record<string, z.ZodType>,
  opened: (content: Record<string, unknown>) => 'read' | 'played',
): ContentFamily {
  const shape = { ...fields, mentions, media: mediaInfo };
  return {
    content: z.looseObject(shape),
    phoneBody: z.object(shape),
    words: (content) => (content.caption as string | undefined) ?? '',
    opened,
    admit: admitMedia,
  };
}

const read = () => 'read' as const;
const played = () => 'played' as const;
/** Opening a view-once picture uses it up, so it counts as played (EVT-3). */
const onceOr = (otherwise: 'read' | 'played') => (content: Record<string, unknown>) =>
  content.view_once === true ? 'played' : otherwise;

export const mediaFamilies = {
  image: mediaFamily({ caption, view_once: viewOnce }, onceOr('read')),
  video: mediaFamily({ caption, view_once: viewOnce }, played),
  audio: mediaFamily({ ptt: z.boolean().default(true), view_once: viewOnce }, played),
  document: mediaFamily({ file_name: z.string().optional(), caption }, read),
  sticker: mediaFamily({}, read),
  ptv: mediaFamily({}, played),
  gif: mediaFamily({ caption }, read),
};
