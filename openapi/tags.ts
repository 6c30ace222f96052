import type { Json } from './json.ts';
import type { Service } from './operation.ts';

/**
 * The subject of each part of a contract, the most used first. The parts are the tags: a part without a line
 * here is an error.
 */
const DESCRIPTIONS: Readonly<Record<Service, Readonly<Record<string, string>>>> = {
  messaging: {
    messages: 'Sending, changing and reading messages',
    media: 'Upload, download and lists of media',
    instances: 'Accounts on the messaging network: life cycle, pairing, settings',
    events: 'The event log: live and by page',
    webhooks: 'Where events are delivered, and the log of the attempts',
    deliveries: 'How the deliveries of all webhooks went',
    scheduled: 'Sends with a time of their own',
    queue: 'What was accepted and is not sent yet',
    chats: 'Chats of an instance, kept current from traffic and from its devices',
    contacts: 'Who an instance knows, and which numbers have an account',
    groups: 'Groups that an instance is in',
    status: 'Stories: posting, replying, who viewed them',
    labels: 'Labels on chats and messages, shared with the devices',
    notes: 'Notes on chats, which never leave the service',
    presence: 'Who is online and who types',
    profile: 'How an instance shows itself',
    business: 'Business profiles, catalogs and collections',
    templates: 'Templates that Meta reviews, of official numbers',
    lids: 'Anonymous ids, and the phones behind them',
    cloud: 'For Meta, which posts what official numbers receive',
    tokens: 'API keys',
    auth: 'Registration, sessions and the own account',
    users: 'The users of a company',
    usage: 'Counters, and what is left of the plan',
    audit: 'What was done that matters for security',
    playground: 'Sends that cost nothing, to simulated phones',
    feedback: 'What users think, told to whoever runs this',
    oauth: 'Log in with google or github',
    health: 'For load balancers and monitoring',
    openapi: 'This API, described',
    admin: 'Companies, for superadmins',
  },
  billing: {
    subscriptions: 'The subscription of a company and its items',
    catalog: 'Plans and add-ons',
    profile: 'Who is charged',
    cards: 'Cards, tokenized at the payment provider',
    charges: 'What was charged',
    simulator: 'The simulated payment provider',
    providerWebhook: 'For the payment provider',
    health: 'For load balancers and monitoring',
    openapi: 'This API, described',
    admin: 'For superadmins',
  },
};

/** The tags of a service, in the order of the table. Throws if a part of its contract has no description. */
export function tagsOf(service: Service, names: readonly string[]): Json[] {
  const known = DESCRIPTIONS[service];
  const missing = names.filter((name) => known[name] === undefined);
  if (missing.length > 0) throw new Error(`no description in openapi/tags.ts: ${missing.join(', ')}`);
  return Object.entries(known).map(([name, description]) => ({ name, description }));
}
