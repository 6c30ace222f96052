/** The bodies of the sends that carry media: their own fields, and one of four sources. */
import { z } from 'zod/v4';
import { mentions, recipient, saysExactly, uuid } from '../fields.ts';
import { FIELD_MAX_CHARS, TEXT_MAX_CHARS, URL_MAX_CHARS } from '../limits.ts';
import { quotedId } from './send-bodies.ts';

const SOURCES = ['media_url', 'media_id', 'media_base64'] as const;

export const mediaSource = {
  media_url: z.string().min(1).max(URL_MAX_CHARS).optional().meta({
    description:
      'The URL of the media. The service fetches it before it accepts the send and caches it for 7 days',
  }),
  media_id: uuid.optional().meta({ description: 'The UUID of stored or received media of this instance' }),
  media_base64: z.string().min(1).optional().meta({ description: 'The media, as a data URI or bare base64' }),
};
export interface MediaSourceFields {
  media_url?: string | undefined;
  media_id?: string | undefined;
  media_base64?: string | undefined;
}

/** Promised word for word. */
export const ONE_SOURCE = 'provide only one of media_url, media_id, media_base64';
export const NO_SOURCE = 'one of media_url, media_id, media_base64 or a file is required';

/** Says what is wrong when a body has not exactly one source. */
export function checkOneSource(body: MediaSourceFields, context: z.RefinementCtx): void {
  // A source of a wrong shape has been refused as what it is; to say that there is none would mislead.
  if (context.issues.length > 0) return;
  const given = SOURCES.filter((name) => body[name] !== undefined).length;
  if (given === 1) return;
  context.addIssue({
    code: 'custom',
    input: body,
    ...saysExactly(given === 0 ? NO_SOURCE : ONE_SOURCE, given === 0 ? 'MISSING_FIELD' : 'BAD_REQUEST'),
  });
}

/** The two shapes of one send: `form` is what the text fields of a multipart form come to. */
function mediaBody<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return {
    form: z.object(shape),
    json: z
      .object({ ...shape, ...mediaSource })
      .superRefine((body, context) => checkOneSource(body as MediaSourceFields, context))
      .meta({ id }),
  };
}

export const caption = z.string().max(TEXT_MAX_CHARS).optional();
const viewOnce = z
  .boolean()
  .default(false)
  .meta({ description: 'Whether the recipient can open the media only once' });
const fileName = z.string().max(FIELD_MAX_CHARS).optional();
const common = { to: recipient, quoted_id: quotedId, mentions: mentions.optional() };

export const imageBody = mediaBody('SendImageRequest', { ...common, caption, view_once: viewOnce });
export const videoBody = mediaBody('SendVideoRequest', { ...common, caption, view_once: viewOnce });
export const audioBody = mediaBody('SendAudioRequest', {
  ...common,
  ptt: z
    .boolean()
    .default(true)
    .meta({ description: 'Whether the audio is sent as a voice note; false sends the file unchanged' }),
  view_once: viewOnce,
});
export const documentBody = mediaBody('SendDocumentRequest', { ...common, file_name: fileName, caption });
export const stickerBody = mediaBody('SendStickerRequest', common);
export const ptvBody = mediaBody('SendPtvRequest', common);
export const gifBody = mediaBody('SendGifRequest', { ...common, caption });

export const statusImageBody = mediaBody('PostStatusImageRequest', { caption });
export const statusVideoBody = mediaBody('PostStatusVideoRequest', { caption });
export const statusAudioBody = mediaBody('PostStatusAudioRequest', {});
