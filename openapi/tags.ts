import type { Json } from './json.ts';
import type { Service } from './operation.ts';

/** What each part of a contract is about. The parts are the tags: one without a line here is an error. */
const DESCRIPTIONS: Readonly<Record<Service, Readonly<Record<string, string>>>> = {
  messaging: {
    admin: 'Companies, for superadmins',
    audit: 'What was done that matters for security',
    auth: 'Registration, sessions and the own account',
    business: 'Business profiles, catalogs and collections',
    chats: 'Chats of an instance, kept current from traffic and from its devices',
    contacts: 'Who an instance knows, and which numbers have an account',
    deliveries: 'How the deliveries of all webhooks went',
    events: 'The event log: live and by page',
    feedback: 'What users think, told to whoever runs this',
    groups: 'Groups that an instance is in',
    health: 'For load balancers and monitoring',
    instances: 'Accounts on the messaging network: life cycle, pairing, settings',
    labels: 'Labels on chats and messages, shared with the devices',
    lids: 'Anonymous ids, and the phones behind them',
    media: 'Upload, download and lists of media',
    messages: 'Sending, changing and reading messages',
    notes: 'Notes on chats, which never leave the service',
    openapi: 'This API, described',
    oauth: 'Log in with google or github',
    playground: 'Sends that cost nothing, to simulated phones',
    presence: 'Who is online and who types',
    profile: 'How an instance shows itself',
    queue: 'What was accepted and is not sent yet',
    scheduled: 'Sends with a time of their own',
    status: 'Stories: posting, replying, who viewed them',
    tokens: 'API keys',
    usage: 'Counters',
    users: 'The users of a company',
    webhooks: 'Where events are delivered, and the log of the attempts',
  },
  billing: {
    admin: 'For superadmins',
    cards: 'Cards, tokenized at the payment provider',
    catalog: 'Plans and add-ons',
    charges: 'What was charged',
    health: 'For load balancers and monitoring',
    openapi: 'This API, described',
    profile: 'Who is charged',
    providerWebhook: 'For the payment provider',
    simulator: 'The simulated payment provider',
    subscriptions: 'The subscription of a company and its items',
  },
};

/** The tags of a service, by name. Throws for a part of its contract that nobody has described. */
export function tagsOf(service: Service, names: readonly string[]): Json[] {
  return [...names].sort().map((name) => {
    const description = DESCRIPTIONS[service][name];
    if (description === undefined) throw new Error(`the tag ${name} has no description in openapi/tags.ts`);
    return { name, description };
  });
}
