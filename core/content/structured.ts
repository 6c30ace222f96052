import {
  sendApprovedTemplateBody,
  sendLinkButtonBody,
  sendListBody,
} from '@posthorn/contract/messaging/official-bodies.ts';
import {
  sendEventBody,
  sendLocationBody,
  sendPollBody,
  sendTemplateBody,
} from '@posthorn/contract/messaging/send-bodies.ts';
import { given, jidOf, rule } from './rule.ts';

/** Content `{latitude, longitude, name?, address?, mentions?}`. */
export const location = rule({
  body: sendLocationBody,
  toMessage: ({ to, quoted_id, ...content }) => ({
    type: 'location',
    chatJid: jidOf(to),
    content: given(content),
    quotedId: quoted_id,
  }),
});

/** Content `{question, options, max_selections}`. */
export const poll = rule({
  body: sendPollBody,
  toMessage: ({ to, ...content }) => ({ type: 'poll', chatJid: jidOf(to), content: given(content) }),
});

/** Content `{body_text, footer_text?, buttons: [{text, id}]}`. */
export const template = rule({
  body: sendTemplateBody,
  toMessage: ({ to, ...content }) => ({ type: 'template', chatJid: jidOf(to), content: given(content) }),
});

/** Content `{header_text?, body_text, footer_text?, button_text, sections: [{title?, rows: [{id, title, description?}]}]}`. */
export const list = rule({
  body: sendListBody,
  toMessage: ({ to, ...content }) => ({ type: 'list', chatJid: jidOf(to), content: given(content) }),
});

/** Content `{header_text?, body_text, footer_text?, button_text, url}`. */
export const linkButton = rule({
  body: sendLinkButtonBody,
  toMessage: ({ to, ...content }) => ({ type: 'link_button', chatJid: jidOf(to), content: given(content) }),
});

/** One that the network has approved. Content `{name, language, components?}`. */
export const approvedTemplate = rule({
  body: sendApprovedTemplateBody,
  toMessage: ({ to, ...content }) => ({
    type: 'approved_template',
    chatJid: jidOf(to),
    content: given(content),
  }),
});

/** A calendar event. Content `{name, start_at, description?, end_at?, location?, link?}`. */
export const event = rule({
  body: sendEventBody,
  toMessage: ({ to, ...content }) => ({ type: 'event', chatJid: jidOf(to), content: given(content) }),
});
