/** The state of the simulated Cloud API: official numbers, people who write to them, and what went between them. */
import { randomBytes, randomInt } from 'node:crypto';

/** An official number with its app. */
export interface OfficialNumber {
  id: string;
  businessId: string;
  phone: string;
  name: string;
  token: string;
  appSecret: string;
  /** False: the token has died. */
  isTokenAlive: boolean;
  /** How many messages it may send in a second. */
  perSecond: number;
  /** When it sent the last ones, in ms. */
  sentAt: number[];
  /** Where it posts, once it was told and has made sure. */
  webhook: { url: string; verifyToken: string } | null;
}

export interface Person {
  phone: string;
  /** The business-scoped id; webhooks name it beside the number, or alone. */
  userId: string | null;
  showsPhone: boolean;
  /** Another number that leads to the account. */
  otherNumber: string | null;
  name: string;
  autoRead: boolean;
  blocked: boolean;
}

/** A message as the person sees it. */
export interface GraphMessage {
  id: string;
  numberId: string;
  /** The other side's number or id. */
  person: string;
  fromMe: boolean;
  type: string;
  /** The body that was sent, or the message of the webhook. */
  body: Record<string, unknown>;
  /** `biz_opaque_callback_data`. */
  callbackData: string | null;
  at: Date;
  isRead: boolean;
}

/** A template of a business account, with its review. */
export interface GraphTemplate {
  id: string;
  businessId: string;
  name: string;
  language: string;
  category: string;
  status: string;
  rejectedReason: string;
  quality: string;
  components: unknown[];
}

export interface StoredMedia {
  id: string;
  numberId: string;
  bytes: Buffer;
  mimeType: string;
}

export type GraphFault =
  /** Refuses with this code of the API; nothing is taken. */
  | { kind: 'error'; code: number }
  /** Cuts the connection before or after the message is taken. */
  | { kind: 'lose_answer'; at: 'before' | 'after' }
  /** Takes the message, and tells later that it failed. */
  | { kind: 'fail'; code: number }
  /** An error page of a proxy in place of an answer, before or after. */
  | { kind: 'bad_gateway'; at: 'before' | 'after' };

export interface PlacedFault {
  fault: GraphFault;
  /** Only of sends to this person. */
  person: string | null;
  left: number;
  probability: number;
}

export interface GraphWorld {
  numbers: Map<string, OfficialNumber>;
  /** Where the app has the numbers of a business account post that have no address of their own, by the account's id. */
  accountWebhooks: Map<string, string>;
  people: Map<string, Person>;
  messages: Map<string, GraphMessage>;
  media: Map<string, StoredMedia>;
  templates: Map<string, GraphTemplate>;
  /** Addresses of media that live for five minutes. */
  mediaUrls: Map<string, { mediaId: string; untilMs: number }>;
  faults: PlacedFault[];
  /** How long each answer takes. */
  answerDelayMs: number;
  /** Every send as it came, once it was taken. */
  ledger: {
    callbackData: string | null;
    /** The id of the number that sent it. */
    from: string;
    to: string;
    at: number;
    id: string;
    body: Record<string, unknown>;
  }[];
}

export function newWorld(): GraphWorld {
  return {
    numbers: new Map(),
    accountWebhooks: new Map(),
    people: new Map(),
    messages: new Map(),
    media: new Map(),
    templates: new Map(),
    mediaUrls: new Map(),
    faults: [],
    answerDelayMs: 0,
    ledger: [],
  };
}

export function newGraphId(): string {
  return `1${Array.from({ length: 14 }, () => randomInt(10)).join('')}`;
}

/** As the network makes them: `wamid.` and base64. */
export function newWamid(): string {
  return `wamid.${randomBytes(27).toString('base64')}`;
}

/** A person comes to life when first written to. */
export function personOf(world: GraphWorld, name: string): Person {
  const known =
    world.people.get(name) ??
    [...world.people.values()].find(({ userId, otherNumber }) => userId === name || otherNumber === name);
  if (known) return known;
  const isId = name.includes('.');
  const person: Person = {
    phone: name,
    userId: isId ? name : null,
    showsPhone: !isId,
    otherNumber: null,
    name: 'Somebody',
    autoRead: false,
    blocked: false,
  };
  world.people.set(name, person);
  return person;
}

/** Takes the first fault that this send meets, and counts it. */
export function takeFault(world: GraphWorld, person: string, random: () => number): GraphFault | null {
  for (const placed of world.faults) {
    if (placed.left === 0 || (placed.person !== null && placed.person !== person)) continue;
    if (random() >= placed.probability) continue;
    placed.left -= 1;
    return placed.fault;
  }
  return null;
}
