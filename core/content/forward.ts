import { apiError } from '@posthorn/contract/api-error.ts';
import { sendForwardBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { jidOf, type KnownMessage, rule } from './rule.ts';
import { reachedNetwork, wireTarget } from './target.ts';

/** Types that refer to another message, or that nobody understands, mean nothing in another chat. */
const NOT_FORWARDED = new Set([
  'reaction',
  'poll_vote',
  'template_reply',
  'unknown',
  'status_text',
  'status_image',
  'status_video',
  'status_audio',
]);

/**
 * A message of the source's type and content. The recipient sees the forwarded mark if the source was received or
 * already forwarded, and a clean copy if it was our own (SND-27).
 */
export const forward = rule({
  body: sendForwardBody,
  target: (body) => body.message_id,
  toMessage({ to, forward_chat_id }, { target }) {
    const sourceChat = jidOf(forward_chat_id);
    if (!target || target.chatJid !== sourceChat || !reachedNetwork(target)) {
      return apiError('MESSAGE_NOT_FOUND');
    }
    if (target.deletedAt) return apiError('FORWARD_SOURCE_DELETED');
    if (NOT_FORWARDED.has(target.type)) {
      return apiError('BAD_REQUEST', { message: 'messages of this type cannot be forwarded' });
    }
    return {
      type: target.type,
      chatJid: jidOf(to),
      content: forwardedContent(target.content),
      mediaId: target.mediaId ?? undefined,
      forwardingScore: isMarked(target) ? target.forwardingScore + 1 : undefined,
      payload: { source: { chat: target.chatJid, ...wireTarget(target) } },
    };
  },
});

function isMarked(source: KnownMessage): boolean {
  return source.direction === 'inbound' || source.isForwarded;
}

/** The forwarded content, without what was addressed to people of the other chat. */
export function forwardedContent(source: Record<string, unknown>): Record<string, unknown> {
  const { mentions: _, status_reply: __, ...content } = source;
  return content;
}
