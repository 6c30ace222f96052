import { MEDIA_ID, NETWORK_ID, PHONE } from '../field-docs/sample-values.ts';

const PASSWORD = 'a long enough password';
const EMAIL = 'owner@acme.test';

/**
 * One body that passes, for each route of the messaging service that takes one, by the name of the route. The
 * documents show them, and the tests send them.
 */
export const messagingBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'auth.register': { company_name: 'Acme', owner_email: EMAIL, owner_name: 'Olga', password: PASSWORD },
  'auth.quickRegister': { email: 'quick@acme.test' },
  'auth.login': { email: EMAIL, password: PASSWORD },
  'auth.forgotPassword': { email: EMAIL },
  'auth.resetPassword': { token: 'abc', password: PASSWORD },
  'auth.verifyEmail': { code: '123456' },
  'auth.updateMe': { name: 'Olga' },
  'auth.changePassword': { current_password: PASSWORD, new_password: 'another password' },
  'auth.startEmailChange': { new_email: 'new@acme.test', current_password: PASSWORD },
  'auth.confirmEmailChange': { code: '123456' },
  'auth.deleteAccount': { current_password: PASSWORD },
  'oauth.completeSignup': { token: 'abc', company_name: 'Acme' },
  'users.create': { email: 'agent@acme.test', name: 'Ana', role: 'agent' },
  'users.update': { name: 'Ana' },
  'tokens.create': { name: 'CI' },
  'instances.create': { name: 'Support', driver: 'sandbox' },
  'instances.update': { name: 'Sales' },
  'instances.pairingCode': { phone: PHONE },
  'instances.updateSettings': { passive_mode_enabled: true },
  'messages.sendText': { to: PHONE, text: 'hello', mentions: ['5511999990001@s.whatsapp.net'] },
  'messages.sendImage': { to: PHONE, media_id: MEDIA_ID, caption: 'a picture', view_once: true },
  'messages.sendVideo': { to: PHONE, media_url: 'https://media.example.com/a.mp4' },
  'messages.sendAudio': { to: PHONE, media_id: MEDIA_ID, ptt: false },
  'messages.sendDocument': { to: PHONE, media_id: MEDIA_ID, file_name: 'contract.pdf' },
  'messages.sendSticker': { to: PHONE, media_id: MEDIA_ID },
  'messages.sendPtv': { to: PHONE, media_id: MEDIA_ID },
  'messages.sendGif': { to: PHONE, media_id: MEDIA_ID },
  'messages.sendLocation': { to: PHONE, latitude: -23.5, longitude: -46.6, name: 'Here' },
  'messages.sendContact': { to: PHONE, contact_name: 'Ana', contact_phone: '+5511999990002' },
  'messages.sendReaction': { to: PHONE, message_id: NETWORK_ID, emoji: '👍' },
  'messages.sendPoll': { to: PHONE, question: 'When?', options: ['now', 'later'], max_selections: 1 },
  'messages.sendTemplate': { to: PHONE, body_text: 'Confirm?', buttons: [{ text: 'Yes', id: 'yes' }] },
  'messages.sendLinkPreview': {
    to: PHONE,
    text: 'see https://example.com/a',
    url: 'https://example.com/a',
  },
  'messages.sendEvent': { to: PHONE, name: 'Launch', start_at: '2030-01-01T10:00:00Z' },
  'messages.forward': { to: PHONE, forward_chat_id: PHONE, message_id: NETWORK_ID },
  'messages.remove': { to: PHONE, message_id: NETWORK_ID },
  'messages.edit': { content: 'better words' },
  'messages.pin': { chat_jid: PHONE, message_id: NETWORK_ID, pin: true, duration_seconds: 86_400 },
  'messages.votePoll': { chat_jid: PHONE, poll_message_id: NETWORK_ID, selected_options: ['now'] },
  'messages.star': { chat_jid: PHONE, message_id: NETWORK_ID, starred: true },
  'scheduled.create': {
    type: 'text',
    send_at: '2030-01-01T10:00:00Z',
    body: { to: PHONE, text: 'later' },
  },
  'status.postText': { text: 'news', background_color: '#00FF00', font: 6 },
  'status.postImage': { media_id: MEDIA_ID, caption: 'news' },
  'status.postVideo': { media_id: MEDIA_ID },
  'status.postAudio': { media_id: MEDIA_ID },
  'status.reply': { poster_phone: PHONE, text: 'nice' },
  'media.upload': { media_url: 'https://media.example.com/a.jpg', file_name: 'a.jpg' },
  'webhooks.create': {
    url: 'https://hooks.example.com/posthorn',
    events: ['message.*'],
    headers: { 'x-team': 'blue' },
    enabled: true,
  },
  'webhooks.update': { url: 'https://hooks.example.com/other', enabled: false },
  'deliveries.retryBulk': { log_ids: [1, 2] },
};
