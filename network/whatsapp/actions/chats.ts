/** Labels and chat states, which the account's devices share in app state. */
import { SendRefused } from '@posthorn/core/network/driver.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import { readTail } from '../known-messages.ts';
import { nextRevision, type WhatsAppContext } from '../session-context.ts';
import { keysToRead } from '../session-read.ts';
import { changeState } from '../sync-collections.ts';
import { tell } from '../tell-facts.ts';
import { type Actions, ask } from './action.ts';

type ChatOps =
  | 'label_edit'
  | 'label_chat'
  | 'label_message'
  | 'chat_read'
  | 'chat_archive'
  | 'chat_pin'
  | 'chat_mute';

export const chatActions: Pick<Actions, ChatOps> = {
  label_edit: (session, { label_id: id, name, color, deleted }) =>
    change(session, id, { addLabel: { id, name, color, deleted } }, (revision, at) => ({
      ...{ kind: 'label', revision, labelId: id, name, color, deleted, at },
    })),

  label_chat: (session, { label_id: labelId, chat, associated }) =>
    change(
      session,
      chat,
      { [associated ? 'addChatLabel' : 'removeChatLabel']: { labelId } },
      (revision, at) => ({ kind: 'label_chat', revision, labelId, chat, associated, at }),
    ),

  label_message: (session, { label_id: labelId, chat, target, associated }) =>
    change(
      session,
      chat,
      { [associated ? 'addMessageLabel' : 'removeMessageLabel']: { labelId, messageId: target.id } },
      (revision, at) => ({ kind: 'label_message', revision, labelId, chat, target, associated, at }),
    ),

  async chat_read(session, { chat, read, message_ids: ids }) {
    if (read && ids.length > 0) await tellSenders(session, chat, ids);
    const lastMessages = await lastOf(session, chat);
    return change(session, chat, { markRead: read, lastMessages }, (revision, at) => ({
      ...{ kind: 'chat', revision, chat, read, at },
    }));
  },

  async chat_archive(session, { chat, archived }) {
    const lastMessages = await lastOf(session, chat);
    return change(session, chat, { archive: archived, lastMessages }, (revision, at) => ({
      ...{ kind: 'chat', revision, chat, archived, at },
    }));
  },

  chat_pin: (session, { chat, pinned }) =>
    change(session, chat, { pin: pinned }, (revision, at) => ({ kind: 'chat', revision, chat, pinned, at })),

  chat_mute: (session, { chat, until }) =>
    change(session, chat, { mute: until === 0 ? -1 : until }, (revision, at) => ({
      ...{ kind: 'chat', revision, chat, mutedUntil: until, at },
    })),
};

/** Changes state shared by the devices, and reports it to the owner with the returned revision. */
async function change(
  session: WhatsAppContext,
  index: string,
  patch: object,
  factOf: (revision: number, at: Date) => NetworkFact,
): Promise<{ revision: number }> {
  await ask(session, (socket) => changeState(() => socket.chatModify(patch, index)), {
    404: 'message_not_found',
  });
  const revision = nextRevision(session);
  tell(session, async () => [factOf(revision, session.deps.clock.now())]);
  return { revision };
}

/** Devices accept a change of a chat only with its last message. */
async function lastOf(session: WhatsAppContext, chat: string): Promise<object[]> {
  const tail = await readTail(session.request.keys, chat);
  if (!tail) throw new SendRefused('message_not_found');
  const isGroup = chat.endsWith('@g.us');
  const participant = isGroup && !tail.fromMe ? { participant: tail.from } : {};
  const key = { remoteJid: chat, id: tail.id, fromMe: tail.fromMe, ...participant };
  return [{ key, messageTimestamp: Math.floor(tail.at / 1000) }];
}

async function tellSenders(session: WhatsAppContext, chat: string, ids: readonly string[]): Promise<void> {
  const keys = await keysToRead(session, chat, ids);
  if (keys.length > 0) await ask(session, (socket) => socket.readMessages(keys));
}
