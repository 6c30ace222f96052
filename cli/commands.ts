/** Every command. A new one is a file of its own and a line here. */
import type { Command } from './command.ts';
import { login } from './commands/account/login.ts';
import { logout } from './commands/account/logout.ts';
import { oauthStart } from './commands/account/oauth.ts';
import { quickRegister } from './commands/account/quick-register.ts';
import { register } from './commands/account/register.ts';
import { resendCode, verifyEmail } from './commands/account/verify-email.ts';
import { whoami } from './commands/account/whoami.ts';
import { mcp } from './commands/agents/mcp.ts';
import { api } from './commands/api.ts';
import { addCard, defaultCard, listCards, removeCard } from './commands/billing/cards.ts';
import { listAddons, listPlans } from './commands/billing/catalog.ts';
import { listCharges } from './commands/billing/charges.ts';
import { createProfile, getProfile, updateProfile } from './commands/billing/profile.ts';
import { simulateClock, simulateCommands } from './commands/billing/simulate.ts';
import {
  addItem,
  cancelSubscription,
  changePlan,
  createSubscription,
  getSubscription,
  removeItem,
} from './commands/billing/subscription.ts';
import { bulkSend } from './commands/bulk/send.ts';
import { completion } from './commands/completion.ts';
import { dev } from './commands/dev/dev.ts';
import { doctor } from './commands/doctor/doctor.ts';
import { getEvent } from './commands/events/get.ts';
import { listEvents } from './commands/events/list.ts';
import { tailEvents } from './commands/events/tail.ts';
import { health } from './commands/health.ts';
import { getConnection } from './commands/instances/connection.ts';
import { createInstance } from './commands/instances/create.ts';
import { deleteInstance } from './commands/instances/delete.ts';
import { getInstance } from './commands/instances/get.ts';
import { listInstances } from './commands/instances/list.ts';
import {
  connectInstance,
  disconnectInstance,
  logoutInstance,
  restartInstance,
} from './commands/instances/moves.ts';
import { pairingCode } from './commands/instances/pairing-code.ts';
import { getQr } from './commands/instances/qr.ts';
import { getSettings, setSettings } from './commands/instances/settings.ts';
import { useInstance } from './commands/instances/use.ts';
import { watchInstances } from './commands/instances/watch.ts';
import { downloadMedia } from './commands/media/download.ts';
import { deleteMedia, listMedia, mediaByChat, mediaInfo } from './commands/media/list.ts';
import { uploadMedia } from './commands/media/upload.ts';
import { deleteMessage, editMessage } from './commands/messages/change.ts';
import { getMessage } from './commands/messages/get.ts';
import { cancelTask, clearQueue, listQueue } from './commands/messages/queue.ts';
import { sendCommands } from './commands/messages/send-any.ts';
import { sendText } from './commands/messages/send-text.ts';
import { pair } from './commands/pair.ts';
import { listProfiles, removeProfile, useProfile } from './commands/profiles.ts';
import { addFault, clearFaults, listFaults } from './commands/sandbox/faults.ts';
import { ledger } from './commands/sandbox/ledger.ts';
import { listMessages, sendFromPhone } from './commands/sandbox/messages.ts';
import { sandboxPair } from './commands/sandbox/pair.ts';
import { actOnPhone, getPhone, setPhone } from './commands/sandbox/phones.ts';
import { createToken } from './commands/tokens/create.ts';
import { listTokens } from './commands/tokens/list.ts';
import { revokeToken } from './commands/tokens/revoke.ts';
import { trigger } from './commands/trigger/trigger.ts';
import { usage } from './commands/usage.ts';
import { createWebhook } from './commands/webhooks/create.ts';
import { deleteWebhook } from './commands/webhooks/delete.ts';
import { deliveries } from './commands/webhooks/deliveries.ts';
import { getWebhook } from './commands/webhooks/get.ts';
import { listWebhooks } from './commands/webhooks/list.ts';
import { listen } from './commands/webhooks/listen.ts';
import { webhookLogs } from './commands/webhooks/logs.ts';
import { updateWebhook } from './commands/webhooks/update.ts';
import { watchDeliveries } from './commands/webhooks/watch-deliveries.ts';
import { derivedCommands } from './endpoints/commands.ts';

/** What a group of commands is about. */
export const groups: Readonly<Record<string, string>> = {
  instances: 'accounts on the messaging network',
  'instances settings': 'settings of an instance',
  send: 'send messages',
  bulk: 'sends to many, from a file',
  message: 'messages, sent and received',
  media: 'pictures, videos, sounds and documents that are stored',
  chats: 'chats: unread, archived, pinned and muted',
  contacts: 'whom the phone has saved, and who has written',
  labels: 'labels on chats and messages',
  notes: 'notes on chats, which are never sent',
  events: 'what happened, and what happens now',
  webhooks: 'deliveries of events to an address of yours',
  tokens: 'API keys',
  billing: 'plans, the subscription, cards and charges',
  'billing profile': 'who is charged',
  'billing cards': 'cards',
  'billing items': 'add-ons of the subscription',
  'billing simulate': 'the simulated payment provider: payments, dues and its clock',
  account: 'the company and its owner',
  admin: 'for superadmins: companies, their instances and feedback, and the billing of all',
  audit: 'who did what',
  deliveries: 'what was delivered to webhooks, and what was not',
  email: 'changing the e-mail of a login',
  openapi: 'the API, described',
  oauth: 'logging in with Google or GitHub',
  password: 'forgotten and new passwords',
  playground: 'sends that cost nothing, from a shared simulated instance',
  profiles: 'keys and logins, kept under names',
  scheduled: 'sends with a time of their own',
  status: 'stories: posted, seen and received',
  users: 'the users of the company',
  groups: 'groups that an instance is in',
  presence: 'who is online and who types',
  profile: 'what the account shows of itself',
  business: 'what businesses show: profiles, products, collections',
  lids: 'the phones behind anonymous ids',
  queue: 'what waits to be sent',
  sandbox: 'the simulated network: its phones, faults and ledger',
  'sandbox phones': 'virtual phones',
  'sandbox messages': 'what a virtual phone shows and sends',
  'sandbox faults': 'faults on demand',
};

export const commands: readonly Command[] = [
  register,
  quickRegister,
  login,
  logout,
  verifyEmail,
  resendCode,
  whoami,
  createInstance,
  listInstances,
  getInstance,
  useInstance,
  connectInstance,
  disconnectInstance,
  restartInstance,
  logoutInstance,
  deleteInstance,
  watchInstances,
  getQr,
  pairingCode,
  getConnection,
  getSettings,
  setSettings,
  pair,
  sendText,
  ...sendCommands,
  bulkSend,
  editMessage,
  deleteMessage,
  listQueue,
  cancelTask,
  clearQueue,
  getMessage,
  tailEvents,
  listEvents,
  getEvent,
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  webhookLogs,
  listen,
  deliveries,
  watchDeliveries,
  createToken,
  listTokens,
  revokeToken,
  uploadMedia,
  downloadMedia,
  listMedia,
  mediaByChat,
  mediaInfo,
  deleteMedia,
  usage,
  listPlans,
  listAddons,
  getProfile,
  createProfile,
  updateProfile,
  listCards,
  addCard,
  defaultCard,
  removeCard,
  createSubscription,
  getSubscription,
  changePlan,
  cancelSubscription,
  addItem,
  removeItem,
  listCharges,
  ...simulateCommands,
  simulateClock,
  getPhone,
  setPhone,
  actOnPhone,
  sandboxPair,
  listMessages,
  sendFromPhone,
  ledger,
  listFaults,
  addFault,
  clearFaults,
  health,
  doctor,
  dev,
  trigger,
  completion,
  oauthStart,
  api,
  mcp,
  listProfiles,
  useProfile,
  removeProfile,
  ...derivedCommands,
];
