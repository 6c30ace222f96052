import { apiError } from '@posthorn/contract/api-error.ts';
import { sendReactionBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { isUuid } from '../platform/ids.ts';
import { jidOf, rule } from './rule.ts';
import { wireTarget } from './target.ts';

/**
 * Content `{message_id, emoji, removed?}`. A network id that is not in our history may be one that only the device
 * knows; an unknown UUID belongs to no message (SND-21: 404 MESSAGE_NOT_FOUND).
 */
export const reaction = rule({
  body: sendReactionBody,
  target: (body) => body.message_id,
  toMessage({ to, message_id, emoji }, { target }) {
    const chatJid = jidOf(to);
    if (target ? target.chatJid !== chatJid : isUuid(message_id)) return apiError('MESSAGE_NOT_FOUND');
    return {
      type: 'reaction',
      chatJid,
      content: {
        message_id: target?.id ?? message_id,
        emoji,
        ...(emoji === '' ? { removed: true } : {}),
      },
      payload: { target: target ? wireTarget(target) : { id: message_id } },
    };
  },
});
