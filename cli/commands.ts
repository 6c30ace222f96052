/** Every command, by its heading in `msgctl --help`. */
import type { Command } from './command.ts';
import { account } from './sections/account.ts';
import { chats } from './sections/chats.ts';
import { events } from './sections/events.ts';
import { getGoing } from './sections/get-going.ts';
import { instances } from './sections/instances.ts';
import { messages } from './sections/messages.ts';
import { others } from './sections/others.ts';
import { trying } from './sections/trying.ts';

const SECTIONS: Readonly<Record<string, readonly Command[]>> = {
  'Get going:': getGoing,
  'Instances:': instances,
  'Messages:': messages,
  'Chats and people:': chats,
  'Events and webhooks:': events,
  'Account and billing:': account,
  'Try things out:': trying,
  'Everything else:': others,
};

/** The headings of `msgctl --help`, in order. */
export const headings: readonly string[] = Object.keys(SECTIONS);

export const commands: readonly Command[] = Object.values(SECTIONS).flat();

/** The heading of a command by its first word. The library's own `help` goes under "get going". */
export function sectionOf(word: string): string {
  const found = Object.entries(SECTIONS).find(([, all]) =>
    all.some(({ name }) => name.split(' ')[0] === word),
  );
  return found?.[0] ?? 'Get going:';
}

/** The description of each group of commands. */
export const groups: Readonly<Record<string, string>> = {
  instances: 'connected accounts on the messaging network',
  'instances settings': 'settings of an instance',
  send: 'send messages',
  bulk: 'send to many recipients, from a file',
  message: 'messages, sent and received',
  media: 'stored pictures, videos, sounds and documents',
  chats: 'chats: unread, archived, pinned and muted',
  contacts: 'contacts: saved on the phone, or known from chats',
  labels: 'labels on chats and messages',
  notes: 'notes on chats, which are never sent',
  events: 'events, from the log and live',
  webhooks: 'deliveries of events to an address of yours',
  tokens: 'API keys',
  billing: 'plans, the subscription, cards and charges',
  'billing profile': 'the billing profile',
  'billing cards': 'cards',
  'billing items': 'add-ons of the subscription',
  'billing simulate': 'the simulated payment provider: payments, dues and its clock',
  account: 'the company and its owner',
  admin: 'for superadmins: all companies, their instances, feedback and billing',
  audit: 'the audit log',
  deliveries: 'deliveries to webhooks: attempts, failures and figures',
  email: 'change the e-mail of a login',
  openapi: 'the description of the API',
  oauth: 'log in with Google or GitHub',
  password: 'reset or change the password',
  playground: 'sends that cost nothing, from a shared simulated instance',
  profiles: 'named sets of keys and logins',
  scheduled: 'sends at a set time',
  status: 'stories: post them, list them, see their viewers',
  templates: 'approved templates of an official number',
  users: 'the users of the company',
  groups: 'groups that an instance is in',
  presence: 'presence: online and typing',
  profile: 'the profile of the account',
  business: 'profiles, products and collections of businesses',
  lids: 'the phones behind anonymous ids',
  queue: 'messages that wait to be sent',
  sandbox: 'the simulated network: its phones, faults and ledger',
  'sandbox phones': 'virtual phones',
  'sandbox messages': 'messages on a virtual phone',
  'sandbox faults': 'faults on demand',
  'sandbox cloud': 'official numbers of a simulated Cloud API',
};
