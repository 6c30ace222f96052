import { type Command, required, text } from '../command.ts';
import { bulkSend } from '../commands/bulk/send.ts';
import { downloadMedia } from '../commands/media/download.ts';
import { uploadMedia } from '../commands/media/upload.ts';
import { deleteMessage, messageId } from '../commands/messages/delete.ts';
import { sendCommands } from '../commands/messages/send-any.ts';
import { sendText } from '../commands/messages/send-text.ts';
import { calls, pages } from '../endpoints/calls.ts';
import { knownFields } from '../format.ts';

const mime_type = { ...text('type', 'only of this type, e.g. image/ or video/mp4'), flag: 'type' };
const mediaId = required(text('id', 'its media_id'));

export const messages: readonly Command[] = [
  sendText,
  ...sendCommands,
  bulkSend,
  calls('message edit', 'messages.edit', {
    summary: 'Edit a text or a caption, up to 15 minutes after sending',
    args: { messageId },
    flags: { content: required(text('text', 'the new text or caption')) },
  }),
  deleteMessage,
  calls('message get', 'messages.get', {
    summary: 'Show a message and its progress',
    args: { messageId },
    shows: knownFields,
  }),
  calls('message list', 'messages.list'),
  calls('message pin', 'messages.pin'),
  calls('message vote', 'messages.votePoll'),
  calls('message star', 'messages.star'),
  calls('queue list', 'queue.list', {
    summary: 'List accepted messages that are not sent yet',
    isDefault: true,
    columns: ['created_at', 'operation', 'message_type', 'chat_jid', 'task_id'],
    nothing: 'nothing waits',
  }),
  calls('queue cancel', 'queue.cancel', {
    summary: 'Cancel one queued task',
    args: { taskId: required(text('id', 'its task id')) },
  }),
  calls('queue clear', 'queue.clear', {
    summary: 'Cancel everything that is queued',
    destroys: 'This cancels everything that is queued',
  }),
  calls('queue count', 'queue.count'),
  uploadMedia,
  downloadMedia,
  calls('media list', 'media.list', {
    summary: 'List the media of an instance, newest first',
    flags: { mime_type, remote_jid: { ...text('jid', 'only of this chat'), flag: 'chat' }, ...pages(50) },
    columns: ['id', 'mime_type', 'file_name', 'file_size', 'remote_jid', 'created_at'],
    nothing: 'no media',
  }),
  calls('media chats', 'media.conversations', {
    summary: 'List chats with the count and size of their media, newest first',
    flags: { mime_type },
    columns: ['remote_jid', 'media_count', 'total_size', 'last_media_at'],
    nothing: 'no media',
  }),
  calls('media info', 'media.info', {
    summary: 'Show the type and size of media, and how long it is kept',
    args: { mediaId },
  }),
  calls('media delete', 'media.remove', {
    summary: 'Delete media before it expires, which frees its storage',
    details:
      'Refused while a queued or scheduled send needs the media. Messages keep the id of deleted media.',
    destroys: 'This deletes the media',
    args: { mediaId },
    done: ({ mediaId }) => [{ deleted: mediaId }, `deleted ${mediaId}`],
  }),
  calls('scheduled create', 'scheduled.create'),
  calls('scheduled list', 'scheduled.list'),
  calls('scheduled cancel', 'scheduled.remove'),
  calls('status text', 'status.postText'),
  calls('status image', 'status.postImage'),
  calls('status video', 'status.postVideo'),
  calls('status audio', 'status.postAudio'),
  calls('status reply', 'status.reply'),
  calls('status list', 'status.list'),
  calls('status get', 'status.get'),
  calls('status views', 'status.views'),
  calls('status privacy', 'status.privacy'),
];
