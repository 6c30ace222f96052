import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { MessageTarget, OutboundMedia, OutboundMessage } from '@posthorn/core/network/driver.ts';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';

/** The data that accepting a send stored in its task (core/messages/content). */
interface Payload {
  /** The message of a reaction, edit or delete. */
  target?: MessageTarget;
  /** The message being forwarded. */
  source?: MessageTarget & { chat: string };
  /** The status being answered. */
  status?: { id: string; author: string };
  /** The new content of an edit. */
  change?: Record<string, unknown>;
}

/** Deletes and edits: tasks with their own id about an existing message. */
export function isChange(task: Pick<PendingTask, 'operation'>): boolean {
  return task.operation === 'delete' || task.operation === 'edit';
}

/** The media to prepare before this task can be sent; the network itself copies the media of a forward. */
export function mediaOf(
  task: PendingTask,
): { mediaId: string; type: string; voice: boolean; remoteJid?: string } | null {
  if (!task.mediaId || isChange(task) || payloadOf(task).source) return null;
  const { mediaId, type, chatJid, content } = task;
  const chat = chatJid === STATUS_BROADCAST ? {} : { remoteJid: chatJid };
  return { mediaId, type, voice: content.ptt === true, ...chat };
}

/**
 * Converts a task to the network's format. The network id derives from the task id, which for a send is the
 * message id: a repeat after a crash is the same message.
 */
export function outboundOf(task: PendingTask, media?: OutboundMedia): OutboundMessage {
  const { target, source, status, change } = payloadOf(task);
  const changes = isChange(task);
  return {
    networkId: networkIdOf(task.taskId),
    to: task.chatJid,
    type: changes ? task.operation : task.type,
    content: changes ? (change ?? {}) : task.content,
    ...(task.quotedId && !changes ? { quotedId: task.quotedId } : {}),
    ...(media ? { media } : {}),
    ...(target ? { target } : {}),
    ...(source ? { source } : {}),
    ...(status ? { status } : {}),
  };
}

function payloadOf(task: PendingTask): Payload {
  return task.payload ?? {};
}
