import { type Command, integer, required, text } from '../command.ts';
import { oauthStart } from '../commands/account/oauth.ts';
import { listProfiles, removeProfile, useProfile } from '../commands/profiles.ts';
import { calls, pages } from '../endpoints/calls.ts';
import { billing } from './billing.ts';

export const account: readonly Command[] = [
  calls('tokens create', 'tokens.create', {
    summary: 'Create an API key, which is shown only once',
    flags: { name: text('name', 'name of the key, default "API key"') },
  }),
  calls('tokens list', 'tokens.list', {
    summary: 'List the API keys, newest first',
    flags: pages(50),
    columns: ['id', 'name', 'last4', 'user_id', 'created_at', 'last_used_at'],
    nothing: 'no keys',
  }),
  calls('tokens revoke', 'tokens.revoke', {
    summary: 'Revoke an API key',
    destroys: 'This ends the API key',
    args: { id: required(integer('id', 'its number, from msgctl tokens list')) },
    done: ({ id }) => [{ id, revoked: true }, `revoked key ${id}`],
  }),
  calls('usage', 'usage.get', { summary: 'Count the messages of an instance in the last 24 hours' }),
  calls('account usage', 'usage.company'),
  ...billing,
  calls('oauth providers', 'oauth.providers'),
  oauthStart,
  calls('oauth complete', 'oauth.completeSignup'),
  listProfiles,
  useProfile,
  removeProfile,
  calls('account update', 'auth.updateMe'),
  calls('account delete', 'auth.deleteAccount', {
    destroys: 'This deletes the company and all its users',
  }),
  calls('password forgot', 'auth.forgotPassword'),
  calls('password reset', 'auth.resetPassword'),
  calls('password change', 'auth.changePassword'),
  calls('email change', 'auth.startEmailChange'),
  calls('email confirm', 'auth.confirmEmailChange'),
  calls('users list', 'users.list'),
  calls('users create', 'users.create'),
  calls('users update', 'users.update'),
  calls('users remove', 'users.remove', { destroys: 'This removes the user' }),
  calls('audit list', 'audit.list'),
];
