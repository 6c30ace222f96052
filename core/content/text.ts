import { sendLinkPreviewBody, sendTextBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { given, jidOf, rule } from './rule.ts';

/** Content `{text, mentions?}`. */
export const text = rule({
  body: sendTextBody,
  // Written out: the hot path of everything.
  toMessage: ({ to, text, quoted_id, mentions }) => ({
    type: 'text',
    chatJid: jidOf(to),
    content: mentions ? { text, mentions } : { text },
    quotedId: quoted_id,
  }),
});

/** A text with a preview of its link: message_type text (SND-17). Content `{text, preview}`. */
export const linkPreview = rule({
  body: sendLinkPreviewBody,
  toMessage: ({ to, text, url, title, description, quoted_id }) => ({
    type: 'text',
    chatJid: jidOf(to),
    content: { text, preview: given({ url, title, description }) },
    quotedId: quoted_id,
  }),
});
