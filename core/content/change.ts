import { apiError } from '@posthorn/contract/api-error.ts';
import { messageRef } from '@posthorn/contract/fields.ts';
import { EDIT_WINDOW_S } from '@posthorn/contract/limits.ts';
import { deleteMessageBody, editMessageBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { jidOf, type KnownMessage, rule } from './rule.ts';
import { names, reachedNetwork, wireTarget } from './target.ts';

/** The field with the editable words of each type (SND-30). */
const EDITABLE: Record<string, 'text' | 'caption'> = {
  text: 'text',
  image: 'caption',
  video: 'caption',
  document: 'caption',
  gif: 'caption',
  ptv: 'caption',
};

const notFound = () => apiError('MESSAGE_NOT_FOUND');
const refuse = (message: string) => apiError('BAD_REQUEST', { message });

/** The window opens when it is sent, however long it waits for that. */
function isTooOld({ status, sentAt, createdAt }: KnownMessage, now: Date): boolean {
  if (status === 'queued') return false;
  return now.getTime() - (sentAt ?? createdAt).getTime() > EDIT_WINDOW_S * 1000;
}

/** Changes the words of a message that we sent. */
export const edit = rule({
  body: editMessageBody.extend({ message_id: messageRef }),
  target: (body) => body.message_id,
  toMessage({ content }, { target, now }) {
    // A send that failed was never a message to anybody else.
    if (!target || (target.direction === 'outbound' && target.status === 'failed')) return notFound();
    if (target.direction !== 'outbound') return refuse('only outbound messages can be edited');
    if (target.deletedAt) return refuse('cannot edit a deleted message');
    const field = EDITABLE[target.type];
    if (!field) return apiError('EDIT_UNSUPPORTED_TYPE');
    if (target.isForwarded) return apiError('EDIT_FORWARDED_NOT_ALLOWED');
    if (isTooOld(target, now)) return apiError('EDIT_WINDOW_EXPIRED');
    return {
      type: target.type,
      chatJid: target.chatJid,
      content: {},
      changes: target.id,
      payload: { target: wireTarget(target), change: { [field]: content } },
    };
  },
});

/** Deletes a message for everyone. `path_id`, from the path, names the same message as `message_id`. */
export const remove = rule({
  body: deleteMessageBody.extend({ path_id: messageRef.optional() }),
  target: (body) => body.path_id ?? body.message_id,
  toMessage({ to, message_id }, { target }) {
    const chatJid = jidOf(to);
    if (!target || target.chatJid !== chatJid) return notFound();
    if (!names(message_id, target)) return refuse('message_id: does not name the message of the path');
    if (!reachedNetwork(target) && target.status !== 'queued') return notFound();
    return {
      type: target.type,
      chatJid,
      content: {},
      changes: target.id,
      payload: { target: wireTarget(target) },
    };
  },
});
