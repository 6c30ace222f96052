import type { ErrorCode } from '@posthorn/contract/errors.ts';

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
  'webhooks.retryLog logId': 'NOT_FOUND',
};

/** Which ids of seed-ids.ts stand for a parameter: its own name, unless several resources share the name. */
export function paramKind(routeName: string, param: string): string {
  if (param === 'id') return `${routeName.split('.')[0]}.id`;
  return param;
}
