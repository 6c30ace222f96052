import type { Operation } from '@posthorn/contract/message-types.ts';
import { edit, remove } from './change.ts';
import { contact } from './contact.ts';
import { forward } from './forward.ts';
import { audio, document, gif, image, ptv, sticker, video } from './media.ts';
import { reaction } from './reaction.ts';
import type { SendRule } from './rule.ts';
import { statusAudio, statusImage, statusReply, statusText, statusVideo } from './status.ts';
import { approvedTemplate, event, linkButton, list, location, poll, template } from './structured.ts';
import { linkPreview, text } from './text.ts';

/** Everything that can be sent: a new content type is a line here, a route and a driver mapping. */
export const sendRules: Readonly<Record<Operation, SendRule>> = {
  text,
  image,
  video,
  audio,
  document,
  sticker,
  location,
  contact,
  reaction,
  poll,
  template,
  approved_template: approvedTemplate,
  list,
  link_button: linkButton,
  link_preview: linkPreview,
  event,
  ptv,
  gif,
  forward,
  delete: remove,
  edit,
  status_text: statusText,
  status_image: statusImage,
  status_video: statusVideo,
  status_audio: statusAudio,
  status_reply: statusReply,
};
