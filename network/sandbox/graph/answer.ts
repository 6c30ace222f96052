/** How the simulated Cloud API answers each question of an official number. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { fetch } from '@posthorn/core/platform/http/fetch.ts';
import {
  type GraphMessage,
  type GraphWorld,
  newGraphId,
  newWamid,
  type OfficialNumber,
  type Person,
  personOf,
  takeFault,
} from './model.ts';
import type { Posted } from './post.ts';

/** Answered with the error body of Graph. */
export class GraphError extends Error {
  readonly code: number;
  readonly status: number;
  readonly subcode: number | undefined;
  constructor(code: number, message = `(#${code}) simulated`, status = 400, subcode?: number) {
    super(message);
    this.code = code;
    this.status = status;
    this.subcode = subcode;
  }
}

/** The connection is to be cut, or the answer to be none of Graph's. */
export class Lost extends Error {
  readonly how: 'cut' | 'bad_gateway';
  constructor(how: 'cut' | 'bad_gateway') {
    super(how);
    this.how = how;
  }
}

export interface GraphDeps {
  world: GraphWorld;
  now(): Date;
  random(): number;
  /** The address of this server. */
  baseUrl(): string;
  post(number: OfficialNumber, posted: Posted): void;
}

type Body = Record<string, unknown>;

/** The number whose token this is. Throws the network's error for a token that is unknown or has expired. */
export function callerOf(world: GraphWorld, authorization: string | undefined): OfficialNumber {
  const token = authorization?.replace(/^Bearer /, '');
  const number = [...world.numbers.values()].find((each) => each.token === token);
  if (!number?.isTokenAlive)
    throw new GraphError(190, 'Error validating access token: the session has expired', 401);
  return number;
}

export function readNumber(
  { accountWebhooks }: GraphWorld,
  number: OfficialNumber,
  query: URLSearchParams,
): Body {
  const proof = query.get('appsecret_proof');
  if (proof !== null && proof !== createHmac('sha256', number.appSecret).update(number.token).digest('hex'))
    throw new GraphError(100, 'Invalid appsecret_proof provided in the API argument');
  return {
    id: number.id,
    display_phone_number: `+${number.phone}`,
    verified_name: number.name,
    quality_rating: 'GREEN',
    // An address that is not set is not shown.
    webhook_configuration: {
      phone_number: number.webhook?.url,
      whatsapp_business_account: accountWebhooks.get(number.businessId),
    },
  };
}

/** Subscribes the app to a business account. Without an address in the body, the account's own one is removed. */
export function subscribeApp({ accountWebhooks }: GraphWorld, businessId: string, body: Body): Body {
  const { override_callback_uri: url } = body;
  if (typeof url === 'string') accountWebhooks.set(businessId, url);
  else accountWebhooks.delete(businessId);
  return { success: true };
}

/** Sets where it posts, once the address has answered the challenge. */
export async function configureNumber(number: OfficialNumber, body: Body): Promise<Body> {
  const { override_callback_uri: url, verify_token: verifyToken } = (body.webhook_configuration ??
    {}) as Record<string, string>;
  if (!url) number.webhook = null;
  else {
    const challenge = String(Math.floor(Math.random() * 1e9));
    const question = new URL(url);
    question.searchParams.set('hub.mode', 'subscribe');
    question.searchParams.set('hub.challenge', challenge);
    question.searchParams.set('hub.verify_token', verifyToken ?? '');
    const said = await fetch(question).then(
      async (response) => (response.ok ? response.text() : null),
      () => null,
    );
    if (said !== challenge) throw new GraphError(2200, 'Callback verification failed');
    number.webhook = { url, verifyToken: verifyToken ?? '' };
  }
  return { success: true };
}

/** A send, or a message of the person marked as read. */
export function takeMessage(deps: GraphDeps, number: OfficialNumber, body: Body): Body {
  if (body.messaging_product !== 'whatsapp') throw new GraphError(100, '(#100) messaging_product is missing');
  if (body.status === 'read') return markRead(deps.world, body);
  const name = String(body.to ?? body.recipient ?? '').replace(/^\+/, '');
  const type = String(body.type ?? 'text');
  if (name === '' || body[type] === undefined) throw new GraphError(131008);
  const { world } = deps;
  const part = body[type] as { id?: string; message_id?: string };
  if (part.id !== undefined && !world.media.has(part.id)) throw new GraphError(131009);
  const context = (body.context as { message_id?: string } | undefined)?.message_id;
  for (const id of [context, part.message_id])
    if (id !== undefined && !world.messages.has(id)) throw new GraphError(131009);
  if (isTooFast(number, deps.now().getTime())) throw new GraphError(130429, '(#130429) Rate limit hit');
  const fault = takeFault(world, name, deps.random);
  if (fault?.kind === 'error') throw new GraphError(fault.code);
  if (fault && 'at' in fault && fault.at === 'before') throw lostOf(fault.kind);
  const person = personOf(world, name);
  const message = keep(deps, number, person, { id: newWamid(), fromMe: true, type, body });
  world.ledger.push({
    callbackData: message.callbackData,
    from: number.id,
    to: name,
    at: deps.now().getTime(),
    id: message.id,
    body,
  });
  tellProgress(deps, number, person, message, fault?.kind === 'fail' ? fault.code : null);
  if (fault && 'at' in fault) throw lostOf(fault.kind);
  return {
    messaging_product: 'whatsapp',
    contacts: [{ input: name, wa_id: person.phone }],
    messages: [{ id: message.id, message_status: 'accepted' }],
  };
}

const SECOND_MS = 1_000;

function isTooFast(number: OfficialNumber, nowMs: number): boolean {
  number.sentAt = number.sentAt.filter((at) => at > nowMs - SECOND_MS);
  if (number.sentAt.length >= number.perSecond) return true;
  number.sentAt.push(nowMs);
  return false;
}

function lostOf(kind: string): Lost {
  return new Lost(kind === 'bad_gateway' ? 'bad_gateway' : 'cut');
}

function markRead(world: GraphWorld, body: Body): Body {
  const message = world.messages.get(String(body.message_id));
  if (!message || message.fromMe) throw new GraphError(131009);
  // With it all that the person wrote before.
  for (const each of world.messages.values()) {
    if (!each.fromMe && each.person === message.person && each.numberId === message.numberId)
      each.isRead = true;
    if (each === message) break;
  }
  return { success: true };
}

export function keep(
  { world, now }: GraphDeps,
  number: OfficialNumber,
  person: Person,
  made: Pick<GraphMessage, 'id' | 'fromMe' | 'type' | 'body'>,
): GraphMessage {
  const data = made.body.biz_opaque_callback_data;
  const message: GraphMessage = {
    ...made,
    numberId: number.id,
    person: person.phone,
    callbackData: typeof data === 'string' ? data : null,
    at: now(),
    isRead: false,
  };
  world.messages.set(message.id, message);
  return message;
}

function tellProgress(
  deps: GraphDeps,
  number: OfficialNumber,
  person: Person,
  message: GraphMessage,
  failsWith: number | null,
): void {
  const taken = person.autoRead ? ['sent', 'delivered', 'read'] : ['sent', 'delivered'];
  const steps = failsWith === null ? taken : ['failed'];
  for (const step of steps) tellStatus(deps, number, person, message, step, failsWith ?? undefined);
}

export function tellStatus(
  deps: GraphDeps,
  number: OfficialNumber,
  person: Person,
  { id, callbackData }: GraphMessage,
  status: string,
  code?: number,
): void {
  const errors =
    code === undefined
      ? {}
      : { errors: [{ code, title: 'Simulated', error_data: { details: 'simulated' } }] };
  const value = {
    ...envelopeFor(number),
    statuses: [
      {
        id,
        status,
        timestamp: String(Math.floor(deps.now().getTime() / 1000)),
        ...(person.showsPhone ? { recipient_id: person.phone } : {}),
        ...(person.userId ? { recipient_user_id: person.userId } : {}),
        ...(callbackData === null ? {} : { biz_opaque_callback_data: callbackData }),
        ...errors,
      },
    ],
  };
  deps.post(number, { field: 'messages', value });
}

export function envelopeFor(number: OfficialNumber): Body {
  return {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: number.phone, phone_number_id: number.id },
  };
}

/** An upload of the number. A fault whose person is the id of the number is met by these alone. */
export function takeUpload(
  deps: GraphDeps,
  number: OfficialNumber,
  { bytes, mimeType }: { bytes: Buffer; mimeType: string },
): Body {
  const faults = deps.world.faults.filter(({ person }) => person === number.id);
  const fault = takeFault({ ...deps.world, faults }, number.id, deps.random);
  if (fault && 'at' in fault) throw lostOf(fault.kind);
  return { id: storeMedia(deps, number, bytes, mimeType) };
}

export function storeMedia(
  { world }: GraphDeps,
  number: OfficialNumber,
  bytes: Buffer,
  mimeType: string,
): string {
  const id = newGraphId();
  world.media.set(id, { id, numberId: number.id, bytes, mimeType });
  return id;
}

const URL_LIVES_MS = 5 * 60_000;

export function locateMedia(deps: GraphDeps, number: OfficialNumber, mediaId: string): Body {
  const media = deps.world.media.get(mediaId);
  if (!media || media.numberId !== number.id)
    throw new GraphError(100, '(#100) Unsupported get request', 400);
  if (number.perSecond === 0) throw new GraphError(130429, '(#130429) Rate limit hit');
  const key = randomUUID();
  deps.world.mediaUrls.set(key, { mediaId, untilMs: deps.now().getTime() + URL_LIVES_MS });
  return {
    messaging_product: 'whatsapp',
    url: `${deps.baseUrl()}/media/${key}`,
    mime_type: media.mimeType,
    sha256: createHash('sha256').update(media.bytes).digest('hex'),
    file_size: media.bytes.length,
    id: mediaId,
  };
}
