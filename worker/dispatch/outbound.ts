import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { MessageTarget, OutboundMedia, OutboundMessage } from '@posthorn/core/network/driver.ts';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';

/** What the accept left in the task for the dispatch (core/messages/content). */
interface Payload {
  /** Reaction, edit, delete. */
  target?: MessageTarget;
  /** Forward. */
  source?: MessageTarget & { chat: string };
  /** Answer to a status. */
  status?: { id: string; author: string };
  /** Edit: the new words. */
  change?: Record<string, unknown>;
}

/** Delete and edit: tasks with an id of their own, about a message that is there. */
export function isChange(task: Pick<PendingTask, 'operation'>): boolean {
  return task.operation === 'delete' || task.operation === 'edit';
}

/** The media that has to be prepared before this task can be sent; the network copies a forward's itself. */
export function mediaOf(
  task: PendingTask,
): { mediaId: string; type: string; voice: boolean; remoteJid?: string } | null {
  if (!task.mediaId || isChange(task) || payloadOf(task).source) return null;
  const { mediaId, type, chatJid, content } = task;
  const chat = chatJid === STATUS_BROADCAST ? {} : { remoteJid: chatJid };
  return { mediaId, type, voice: content.ptt === true, ...chat };
}

/**
 * A task as the network takes it. Its id is made of the task's, which for a send is the message's: a
 * repeat after a crash is the same message.
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
