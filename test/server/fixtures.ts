import type { ErrorCode } from '@posthorn/contract/errors.ts';
import { messagingBodies } from '@posthorn/contract/examples/messaging.ts';

/** The contract's examples, with times in the future: bad-input.test.ts spoils them field by field. */
export const validBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ...messagingBodies,
  'scheduled.create': {
    ...messagingBodies['scheduled.create'],
    send_at: new Date(Date.now() + 3_600_000).toISOString(),
  },
};

/** Query strings without which a route answers 400. */
export const validQueries: Record<string, Record<string, string>> = {
  'webhooks.eventDeliveries': { event_id: '00000000-0000-7000-8000-000000000000' },
};

/** The code for an unknown parameter, where it differs from the metadata's `notFound`. */
export const codesOfUnknown: Record<string, ErrorCode> = {
  'messages.get messageId': 'MESSAGE_NOT_FOUND',
  'messages.remove messageId': 'MESSAGE_NOT_FOUND',
  'messages.edit messageId': 'MESSAGE_NOT_FOUND',
  'scheduled.remove scheduledId': 'NOT_FOUND',
  'status.reply statusId': 'MESSAGE_NOT_FOUND',
  'status.get statusId': 'NOT_FOUND',
  'groups.get groupJid': 'NOT_FOUND',
  'groups.update groupJid': 'NOT_FOUND',
  'groups.changeParticipants groupJid': 'NOT_FOUND',
  'groups.invite groupJid': 'NOT_FOUND',
  'groups.revokeInvite groupJid': 'NOT_FOUND',
  'groups.leave groupJid': 'NOT_FOUND',
  'lids.get lid': 'NOT_FOUND',
  'queue.cancel taskId': 'NOT_FOUND',
  'chats.get chatId': 'NOT_FOUND',
  'chats.read chatId': 'NOT_FOUND',
  'chats.archive chatId': 'NOT_FOUND',
  'chats.pin chatId': 'NOT_FOUND',
  'chats.mute chatId': 'NOT_FOUND',
  'contacts.get contactId': 'NOT_FOUND',
  'labels.update labelId': 'NOT_FOUND',
  'labels.remove labelId': 'NOT_FOUND',
  'labels.listChats labelId': 'NOT_FOUND',
  'labels.addToChat labelId': 'NOT_FOUND',
  'labels.removeFromChat labelId': 'NOT_FOUND',
  'labels.addToMessage labelId': 'NOT_FOUND',
  'labels.removeFromMessage labelId': 'NOT_FOUND',
  'labels.addToMessage messageId': 'MESSAGE_NOT_FOUND',
  'labels.removeFromMessage messageId': 'MESSAGE_NOT_FOUND',
  'notes.update noteId': 'NOT_FOUND',
  'notes.remove noteId': 'NOT_FOUND',
  'webhooks.retryLog logId': 'NOT_FOUND',
};

/** Parameters that a route accepts with any name: a status that nobody viewed has no views (STA-9). */
export const takesAny: ReadonlySet<string> = new Set([
  'status.views statusId',
  // Labels, notes and blocks are for any chat, also one without messages.
  'labels.addToChat chatId',
  'labels.removeFromChat chatId',
  'notes.create chatId',
  'notes.list chatId',
  'notes.update chatId',
  'notes.remove chatId',
  'contacts.block contactId',
  'contacts.unblock contactId',
  // Anybody may be watched; a text that is no phone and no JID is 400.
  'presence.subscribe personJid',
  // Only the network knows them: test/cloud/templates.test.ts.
  'templates.remove templateName',
  // The reference lists no refusal for a mode: an unknown one counts as the default.
  'oauth.start mode',
]);

/** The name in seed-ids.ts of a parameter's ids: its own name, unless several resources share it. */
export function paramKind(routeName: string, param: string): string {
  if (param === 'id') return `${routeName.split('.')[0]}.id`;
  return param;
}
