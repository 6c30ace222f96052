import type { ErrorCode } from '@posthorn/contract/errors.ts';

const TO = '+5511999990000';
const ID = '00000000-0000-4000-8000-000000000000';
/** A network id that no instance has. */
const HEX = '3EB0AAAAAAAAAAAAAAAAAA';

function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}

/** A body that passes, for every route that takes one: what bad-input.test.ts then spoils, bit by bit. */
export const validBodies: Record<string, Record<string, unknown>> = {
  'auth.register': {
    company_name: 'Acme',
    owner_email: 'owner@acme.test',
    owner_name: 'Olga',
    password: 'a long enough password',
  },
  'auth.quickRegister': { email: 'quick@acme.test' },
  'auth.login': { email: 'owner@acme.test', password: 'a long enough password' },
  'auth.forgotPassword': { email: 'owner@acme.test' },
  'auth.resetPassword': { token: 'abc', password: 'a long enough password' },
  'auth.verifyEmail': { code: '123456' },
  'auth.updateMe': { name: 'Olga' },
  'auth.changePassword': { current_password: 'a long enough password', new_password: 'another password' },
  'auth.startEmailChange': { new_email: 'new@acme.test', current_password: 'a long enough password' },
  'auth.confirmEmailChange': { code: '123456' },
  'auth.deleteAccount': { current_password: 'a long enough password' },
  'oauth.completeSignup': { token: 'abc', company_name: 'Acme' },
  'users.create': { email: 'agent@acme.test', name: 'Ana', role: 'agent' },
  'users.update': { name: 'Ana' },
  'tokens.create': { name: 'CI' },
  'instances.create': { name: 'Support', driver: 'sandbox' },
  'instances.update': { name: 'Sales' },
  'instances.pairingCode': { phone: '+5511999990000' },
  'instances.updateSettings': { passive_mode_enabled: true },
  'messages.sendText': { to: '+5511999990000', text: 'hello', mentions: ['5511999990001@s.whatsapp.net'] },
  'messages.sendImage': { to: TO, media_id: ID, caption: 'a picture', view_once: true },
  'messages.sendVideo': { to: TO, media_url: 'https://media.example.com/a.mp4' },
  'messages.sendAudio': { to: TO, media_id: ID, ptt: false },
  'messages.sendDocument': { to: TO, media_id: ID, file_name: 'contract.pdf' },
  'messages.sendSticker': { to: TO, media_id: ID },
  'messages.sendPtv': { to: TO, media_id: ID },
  'messages.sendGif': { to: TO, media_id: ID },
  'messages.sendLocation': { to: TO, latitude: -23.5, longitude: -46.6, name: 'Here' },
  'messages.sendContact': { to: TO, contact_name: 'Ana', contact_phone: '+5511999990002' },
  'messages.sendReaction': { to: TO, message_id: HEX, emoji: '👍' },
  'messages.sendPoll': { to: TO, question: 'When?', options: ['now', 'later'], max_selections: 1 },
  'messages.sendTemplate': { to: TO, body_text: 'Confirm?', buttons: [{ text: 'Yes', id: 'yes' }] },
  'messages.sendLinkPreview': { to: TO, text: 'see https://example.com/a', url: 'https://example.com/a' },
  'messages.sendEvent': { to: TO, name: 'Launch', start_at: '2030-01-01T10:00:00Z' },
  'messages.forward': { to: TO, forward_chat_id: TO, message_id: HEX },
  'messages.remove': { to: TO, message_id: HEX },
  'messages.edit': { content: 'better words' },
  'messages.pin': { chat_jid: TO, message_id: HEX, pin: true, duration_seconds: 86_400 },
  'messages.votePoll': { chat_jid: TO, poll_message_id: HEX, selected_options: ['now'] },
  'messages.star': { chat_jid: TO, message_id: HEX, starred: true },
  'scheduled.create': { type: 'text', send_at: inAnHour(), body: { to: TO, text: 'later' } },
  'status.postText': { text: 'news', background_color: '#00FF00', font: 6 },
  'status.postImage': { media_id: ID, caption: 'news' },
  'status.postVideo': { media_id: ID },
  'status.postAudio': { media_id: ID },
  'status.reply': { poster_phone: TO, text: 'nice' },
  'groups.create': { name: 'Support', participants: [TO] },
  'groups.update': { name: 'Sales', announce: true },
  'groups.changeParticipants': { add: [TO] },
  'groups.join': { code: 'AbCdEfGhIjKlMnOpQrStUv' },
  'presence.set': { state: 'composing', chat_jid: TO },
  'profile.update': { name: 'Acme support', about: 'Ask us', picture_media_id: ID },
  'media.upload': { media_url: 'https://media.example.com/a.jpg', file_name: 'a.jpg' },
  'chats.read': { read: true },
  'chats.archive': { archived: true },
  'chats.pin': { pinned: true },
  'chats.mute': { muted: true, duration_seconds: 3600 },
  'contacts.check': { phones: [TO] },
  'labels.create': { name: 'VIP', color: 3 },
  'labels.update': { name: 'VIP clients', color: 4 },
  'notes.create': { note: 'called back' },
  'notes.update': { note: 'called back twice' },
  'playground.send': { kind: 'text', text: 'hello' },
  'feedback.give': { kind: 'idea', message: 'More of it', page: '/inbox', trace_id: ID },
  'feedback.update': { state: 'done' },
  'webhooks.create': {
    url: 'https://hooks.example.com/posthorn',
    events: ['message.*'],
    headers: { 'x-team': 'blue' },
    enabled: true,
  },
  'deliveries.retryBulk': { log_ids: [1, 2] },
  'webhooks.update': { url: 'https://hooks.example.com/other', enabled: false },
};

/** Query strings without which a route answers 400. */
export const validQueries: Record<string, Record<string, string>> = {
  'webhooks.eventDeliveries': { event_id: '00000000-0000-7000-8000-000000000000' },
};

/** Where an unknown parameter answers another code than the metadata's `notFound`. */
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

/** Parameters that a route answers whatever they name: a status that nobody viewed has no views (STA-9). */
export const takesAny: ReadonlySet<string> = new Set([
  'status.views statusId',
  // Labels, notes and blocks are for any chat, also one that nothing was said in yet.
  'labels.addToChat chatId',
  'labels.removeFromChat chatId',
  'notes.create chatId',
  'notes.list chatId',
  'notes.update chatId',
  'notes.remove chatId',
  'contacts.block contactId',
  'contacts.unblock contactId',
  // Anybody may be watched; what is no phone and no JID is 400.
  'presence.subscribe personJid',
  // The reference lists no refusal for a mode: what is none counts as the default.
  'oauth.start mode',
]);

/** Which ids of seed-ids.ts stand for a parameter: its own name, unless several resources share the name. */
export function paramKind(routeName: string, param: string): string {
  if (param === 'id') return `${routeName.split('.')[0]}.id`;
  return param;
}
