import type { Json } from './json.ts';
import type { Service } from './operation.ts';

/**
 * The subject of each part of a contract, the most used first. The parts are the tags: a part without a line
 * here is an error.
 */
const DESCRIPTIONS: Readonly<Record<Service, Readonly<Record<string, string>>>> = {
  messaging: {
    messages: 'Send, change and read messages',
    media: 'Upload, download and list media',
    instances: 'Accounts on the messaging network: life cycle, pairing and settings',
    events: 'The event log, live and in pages',
    webhooks: 'Endpoints that receive events, and the log of delivery attempts',
    deliveries: 'Deliveries and metrics of all webhooks',
    scheduled: 'Scheduled sends',
    queue: 'Accepted sends that are not sent yet',
    chats: 'Chats of an instance, kept current from traffic and from its devices',
    contacts: 'Contacts of an instance, and checks of which numbers have an account',
    groups: 'Groups that an instance is in',
    status: 'Statuses (stories): posts, replies and viewers',
    labels: 'Labels on chats and messages, shared with the devices',
    notes: 'Notes on chats; they never leave the service',
    presence: 'Presence of accounts: online, typing, recording',
    profile: 'The public profile of an instance',
    business: 'Business profiles, catalogs and collections',
    templates: 'Templates of official numbers, which Meta reviews',
    lids: 'Anonymous ids, and the phone numbers behind them',
    cloud: 'Webhooks of Meta for official numbers',
    tokens: 'API keys',
    auth: 'Registration, sessions and your own account',
    users: 'The users of a company',
    usage: 'Counters, and use of the limits of the plan',
    audit: 'The log of actions that matter for security',
    playground: 'Free test sends to simulated phones',
    feedback: 'Feedback from users to the operator of this installation',
    oauth: 'Login with Google or GitHub',
    health: 'Health checks and metrics for load balancers and monitoring',
    openapi: 'The OpenAPI document of this API, and the reference page',
    admin: 'Companies and instances, for superadmins',
  },
  billing: {
    subscriptions: 'The subscription of a company and its items',
    catalog: 'Plans and add-ons',
    profile: 'The billing profile: payer and billing address',
    cards: 'Cards, tokenized at the payment provider',
    charges: 'Charges of a company',
    simulator: 'The simulated payment provider',
    providerWebhook: 'Webhooks of the payment provider',
    health: 'Health checks and metrics for load balancers and monitoring',
    openapi: 'The OpenAPI document of this API, and the reference page',
    admin: 'Billing of all companies, for superadmins',
  },
};

/** The tags of a service, in the order of the table. Throws if a part of its contract has no description. */
export function tagsOf(service: Service, names: readonly string[]): Json[] {
  const known = DESCRIPTIONS[service];
  const missing = names.filter((name) => known[name] === undefined);
  if (missing.length > 0) throw new Error(`no description in openapi/tags.ts: ${missing.join(', ')}`);
  return Object.entries(known).map(([name, description]) => ({ name, description }));
}
