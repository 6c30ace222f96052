/**
 * Sends messages: composes them from stored data, uploads their media, and waits for the network's answer.
 */
import { randomBytes } from 'node:crypto';
import { isUserJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import {
  type OutboundMessage,
  SendDeferred,
  type SendReceipt,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { audienceOf } from './audience.ts';
import { keepMessage, readMessage } from './known-messages.ts';
import type { WireNode } from './library-types.ts';
import { uploadMedia } from './media/transfer.ts';
import { keepWordsOf } from './session-changes.ts';
import { ownJid, requireLive, transferOf, type WhatsAppContext } from './session-context.ts';
import { dateOfSeconds } from './wire/numbers.ts';
import { type Composed, compose, type Ingredients } from './wire/outbound.ts';
import type { WireMessage } from './wire/wire-types.ts';

/** Changes of other messages: nothing can refer to them, and they are never the last message of a chat. */
const CHANGES: ReadonlySet<string> = new Set(['edit', 'delete', 'reaction']);

export async function sendMessage(session: WhatsAppContext, message: OutboundMessage): Promise<SendReceipt> {
  requireLive(session);
  await requireAccount(session, message.to);
  await requireAudience(session, message);
  await requireAddress(session, message.to);
  const composed = compose(message, await gather(session, message));
  const { networkId: id, to: chat } = message;
  await keepOwn(session, { id, chat, message: composed.message }, { isTail: !CHANGES.has(message.type) });
  const at = await relay(session, chat, id, composed);
  if (message.target && (message.type === 'edit' || message.type === 'delete'))
    await keepOwnChange(session, chat, message.target.id, message.type === 'edit' ? message.content : null);
  return { at };
}

/** The network has the change, so a failure to update our copy does not fail the send. */
async function keepOwnChange(
  session: WhatsAppContext,
  ...change: [chat: string, id: string, words: Record<string, unknown> | null]
): Promise<void> {
  await keepWordsOf(session, ...change).catch((err) =>
    session.deps.log.warn(
      { err, instance_id: session.request.instanceId },
      'storing an edited or deleted message failed',
    ),
  );
}

/** Passes a message to the network and waits for its answer. */
export async function relay(
  session: WhatsAppContext,
  to: string,
  networkId: string,
  { message, attributes, meta }: Composed,
): Promise<Date> {
  const { socket } = requireLive(session);
  const statusJidList = to === STATUS_BROADCAST ? await audienceOf(session) : undefined;
  const answered = waitForAnswer(session, networkId);
  try {
    await socket.relayMessage(to, message, {
      messageId: networkId,
      additionalAttributes: attributes ?? {},
      additionalNodes: meta ? [{ tag: 'meta', attrs: meta }] : [],
      statusJidList,
    });
  } catch (cause) {
    answered.drop();
    // The stanza is written last: if the connection still stands, the failure came before it.
    if (session.phase === 'live') throw new SendDeferred('network_unavailable');
    throw new SendUnavailable('the session ended while the message was sent', { cause });
  }
  return answered.answer;
}

/** Refuses a number without an account: the network would deliver the message only to our own devices. */
async function requireAccount(session: WhatsAppContext, jid: string): Promise<void> {
  if (!isUserJid(jid) || session.known.has(jid) || jid === ownJid(session)) return;
  const { socket } = requireLive(session);
  const phone = jid.slice(0, jid.indexOf('@'));
  const found = await socket.onWhatsApp(`+${phone}`).catch(() => undefined);
  if (!found) throw new SendDeferred('network_unavailable');
  if (!found.some((each) => each.exists)) throw new SendRefused('recipient_not_found');
  session.known.add(jid);
}

/** Refuses a status without an audience: the network would accept it, and nobody would ever see it. */
async function requireAudience(session: WhatsAppContext, { to, type }: OutboundMessage): Promise<void> {
  if (to !== STATUS_BROADCAST || CHANGES.has(type)) return;
  const audience = await audienceOf(session);
  if (audience.every((jid) => jid === ownJid(session))) throw new SendRefused('status_audience_empty');
}

/** Maximum queries, at growing intervals, for an anonymous id that the network does not return. */
const LID_TRIES = 5;
const NO_ADDRESS = 'recipient_not_addressable';

/**
 * The network gives a contact's keys only for its anonymous id: without that and without a session, nothing
 * can be encrypted.
 */
async function requireAddress(session: WhatsAppContext, jid: string): Promise<void> {
  if (!isUserJid(jid) || jid === ownJid(session)) return;
  const { lidMapping, validateSession } = requireLive(session).socket.signalRepository;
  if (await lidMapping.getLIDForPN(jid).catch(() => null)) return;
  if ((await validateSession(jid)).exists) return;
  if (session.lids.failures(jid) >= LID_TRIES) throw new SendRefused(NO_ADDRESS);
  throw new SendDeferred(NO_ADDRESS);
}

async function gather(session: WhatsAppContext, message: OutboundMessage): Promise<Ingredients> {
  const { library, request, deps } = session;
  const stored = { library, keys: request.keys };
  const now = deps.clock.now();
  const find = (chat: string, id: string | undefined) => (id ? readMessage(stored, chat, id) : null);
  const [quoted, target, source, status] = await Promise.all([
    message.status ? null : find(message.to, message.quotedId),
    find(message.to, message.target?.id),
    message.source ? find(message.source.chat, message.source.id) : null,
    find(STATUS_BROADCAST, message.status?.id),
  ]);
  const kind = message.type.replace(/^status_/, '');
  const media = message.media && (await uploadMedia(transferOf(session), kind, message.media, now));
  return { me: ownJid(session), now, secret: randomBytes(32), media, quoted, target, source, status };
}

/** Stored before sending: a device that could not read it requests it again, maybe from another worker. */
export async function keepOwn(
  session: WhatsAppContext,
  sent: { id: string; chat: string; message: WireMessage },
  { isTail }: { isTail: boolean },
): Promise<void> {
  const known = { ...sent, from: ownJid(session), fromMe: true };
  const [row, tail] = keepMessage(session.library, known, session.deps.clock.now());
  await session.request.keys.write(isTail ? [row, tail] : [row]);
}

/** The network's refusals by code; all others are `refused_by_network`. */
const REFUSALS: Readonly<Record<string, string>> = {
  '400': 'invalid_message',
  '401': 'not_allowed',
  '403': 'not_allowed',
  '404': 'recipient_not_found',
  '405': 'not_allowed',
  '406': 'not_allowed',
  '420': 'not_allowed',
  '463': 'new_chats_limited',
  '479': 'invalid_message',
};
/** Codes that mean the network cannot take the message now. */
const DEFERRALS: ReadonlySet<string> = new Set(['429', '500', '503']);
const RESTRICTED = '463';

/** Handles the network's answer to a send: its `ack`, with or without an error. */
export function onAck(session: WhatsAppContext, node: WireNode): void {
  const { id = '', error, t } = node.attrs;
  const waiting = session.waiting.get(id);
  if (error === RESTRICTED && !session.isRestricted) {
    session.isRestricted = true;
    session.sink.restricted('new_chats_limited');
  }
  if (!waiting) return;
  session.waiting.delete(id);
  if (!error) waiting.resolve(dateOfSeconds(t, session.deps.clock.now()));
  else if (DEFERRALS.has(error)) waiting.reject(new SendDeferred('network_busy'));
  else waiting.reject(new SendRefused(REFUSALS[error] ?? 'refused_by_network'));
}

function waitForAnswer(session: WhatsAppContext, id: string): { answer: Promise<Date>; drop(): void } {
  const { promise, resolve, reject } = Promise.withResolvers<Date>();
  const { sendTimeoutMs } = session.deps;
  const timer = setTimeout(() => {
    session.waiting.delete(id);
    reject(new SendUnavailable(`the network did not answer within ${sendTimeoutMs} ms`));
  }, sendTimeoutMs);
  session.waiting.set(id, { resolve, reject });
  const answer = promise.finally(() => clearTimeout(timer));
  // It may reject before anyone awaits it.
  answer.catch(() => undefined);
  return {
    answer,
    drop() {
      session.waiting.delete(id);
      clearTimeout(timer);
    },
  };
}
