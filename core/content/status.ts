import { apiError } from '@posthorn/contract/api-error.ts';
import { messageRef } from '@posthorn/contract/fields.ts';
import { jidOfPhone, phoneOf, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import {
  statusAudioBody,
  statusImageBody,
  statusVideoBody,
} from '@posthorn/contract/messaging/media-bodies.ts';
import { statusReplyBody, statusTextBody } from '@posthorn/contract/messaging/status.ts';
import type { MediaKind } from '../media/media-port.ts';
import { mediaOf } from './media.ts';
import type { NewMessage } from './new-message.ts';
import { type Found, given, rule } from './rule.ts';

/** Content `{text, background_color?, font?}`. */
export const statusText = rule({
  body: statusTextBody,
  toMessage: (body) => ({ type: 'status_text', chatJid: STATUS_BROADCAST, content: given(body) }),
});

function story(type: string, found: Found, content: Record<string, unknown>): NewMessage {
  const { mediaId, sha256 } = mediaOf(found);
  return { type, chatJid: STATUS_BROADCAST, content: given(content), mediaId, mediaHash: sha256 };
}

/** Content `{caption?}`. */
export const statusImage = rule({
  body: statusImageBody.json,
  form: statusImageBody.form,
  media: () => 'image',
  toMessage: ({ caption }, found) => story('status_image', found, { caption }),
});

/** Content `{caption?}`. */
export const statusVideo = rule({
  body: statusVideoBody.json,
  form: statusVideoBody.form,
  media: () => 'video',
  toMessage: ({ caption }, found) => story('status_video', found, { caption }),
});

/** Content `{}`: always a voice note. */
export const statusAudio = rule({
  body: statusAudioBody.json,
  form: statusAudioBody.form,
  media: () => 'audio',
  toMessage: (_body, found) => story('status_audio', found, { ptt: true }),
});

/**
 * A direct message to the author of a received status, and to nobody else, that quotes the status. Content as of its type, with `status_reply`
 * `{status_message_id, phone}` in it: what the recorder tells from.
 */
export const statusReply = rule({
  body: statusReplyBody.json.extend({ status_id: messageRef }),
  form: statusReplyBody.form,
  media: (body) => (body.type === 'text' ? null : (body.type satisfies MediaKind)),
  status: (body) => body.status_id,
  toMessage({ poster_phone, type, text, caption }, { status, media }) {
    if (!status) return apiError('MESSAGE_NOT_FOUND', { message: 'status not found' });
    if (status.poster === null)
      return apiError('BAD_REQUEST', {
        message: 'this status is your own; you can reply only to received statuses',
      });
    const chatJid = jidOfPhone(poster_phone);
    if (chatJid !== status.poster)
      return apiError('BAD_REQUEST', { message: 'poster_phone: did not post this status' });
    const statusId = status.networkId;
    const words = type === 'text' ? { text } : type === 'sticker' ? {} : { caption };
    return {
      type,
      chatJid,
      content: {
        ...given(words),
        status_reply: { status_message_id: statusId, phone: phoneOf(chatJid) },
      },
      mediaId: media?.mediaId,
      mediaHash: media?.sha256,
      payload: { status: { id: statusId, author: chatJid } },
    };
  },
});
