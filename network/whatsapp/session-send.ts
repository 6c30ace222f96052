/**
 * Sends messages: composes them from stored data, uploads their media, stores them encrypted before their bytes
 * leave, and waits for the network's answer. One without an answer is sent again with the same bytes.
 */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import {
  type MessageTarget,
  NotConnected,
  type OutboundMessage,
  SendDeferred,
  type SendReceipt,
  SendRefused,
} from '@posthorn/core/network/driver.ts';
import { drawBytes } from '@posthorn/core/platform/draw-bytes.ts';
import {
  isStaleGroup,
  mayOtherNamesHelp,
  type Names,
  otherNames,
  wireName,
  wireNames,
} from './addressing.ts';
import { audienceOf } from './audience.ts';
import { rowsOfMessage } from './known-messages.ts';
import { takeStanza } from './library-socket.ts';
import type { WireNode } from './library-types.ts';
import { uploadMedia } from './media/transfer.ts';
import { addressOf, CHANGES, requireDevice, requireRecipient } from './recipients.ts';
import { unanswered, unansweredOfGroup } from './send-errors.ts';
import { forgetAnswersAndStanzas } from './session-acks.ts';
import { keepWordsOf } from './session-changes.ts';
import {
  type Connection,
  ownJid,
  requireLive,
  stampOf,
  transferOf,
  type WhatsAppContext,
} from './session-context.ts';
import { fail } from './session-end.ts';
import { readTimer } from './session-timers.ts';
import type { Stanza } from './stanzas.ts';
import { isLimited } from './time-lock.ts';
import { type Composed, compose, type Ingredients } from './wire/outbound.ts';
import { findNamed, withWireMentions } from './wire-names.ts';

export async function sendMessage(session: WhatsAppContext, message: OutboundMessage): Promise<SendReceipt> {
  requireLive(session);
  // Nothing else waits for an upload.
  const needsUpload = message.media && !(await session.stanzas.find(message.networkId));
  const prepared = needsUpload ? await prepare(session, message) : null;
  // The names are read in its turn: a message that waits before its turn could be overtaken.
  const { answer, names } = await inOrder(session, async () => {
    const names = await session.addressing.names();
    return { ...(await handOver(session, message, { prepared, names })), names };
  });
  const at = await answer.catch((err) => sendByOtherNames(session, message, { prepared, names }, err));
  const { target, type } = message;
  if (target && (type === 'edit' || type === 'delete')) await keepOwnChange(session, { ...message, target });
  return { at };
}

/**
 * Sends what was refused for how it names people again: by their other names, or by those that its group has now. Throws
 * `refusal` if those cannot help.
 */
async function sendByOtherNames(
  session: WhatsAppContext,
  message: OutboundMessage,
  { prepared, names }: HandOverOptions,
  refusal: unknown,
): Promise<Date> {
  if (isStaleGroup(message.to, refusal)) {
    const anew = message.media ? await prepare(session, message) : null;
    return (await sendAnew(session, message, { prepared: anew, names })).answer;
  }
  if (!mayOtherNamesHelp(message.to, names, refusal) || !session.addressing.mayTryOthers()) throw refusal;
  if (refusal.reason === 'new_chats_limited' && (await isLimited(session))) throw refusal;
  const other = otherNames(names);
  const { answer } = await sendAnew(session, message, { prepared, names: other });
  const at = await answer.catch((err) => {
    if (!(err instanceof SendRefused)) throw err;
    session.addressing.refusedByBoth();
    throw refusal;
  });
  session.addressing.taken(other);
  return at;
}

/** A message that was refused went to nobody: it is encrypted anew under its id. */
function sendAnew(
  session: WhatsAppContext,
  message: OutboundMessage,
  options: HandOverOptions,
): Promise<HandedOver> {
  return inOrder(session, () => {
    forgetAnswersAndStanzas(session, [message.networkId]);
    return handOver(session, message, options);
  });
}

/**
 * Messages are encrypted and sent one after the other, in the order of the calls; their answers are not awaited.
 * Behind one that was neither sent nor refused, those that were called before it failed are not sent either: the
 * owner repeats all of them, in order.
 */
function inOrder<T>(session: WhatsAppContext, work: () => Promise<T>): Promise<T> {
  const { sending } = session;
  const { breaks } = sending;
  const done = sending.last.then(() => {
    if (sending.breaks > breaks) throw new NotConnected('a message before it was not sent');
    return work();
  });
  sending.last = done.catch((err) => {
    if (!(err instanceof SendRefused || err instanceof SendDeferred)) sending.breaks += 1;
  });
  return done;
}

/** The answer is in an object, because an async function that returned it would wait for it. */
interface HandedOver {
  answer: Promise<Date>;
}

async function handOver(
  session: WhatsAppContext,
  message: OutboundMessage,
  { prepared, names }: HandOverOptions,
): Promise<HandedOver> {
  requireLive(session);
  const { networkId: id } = message;
  const answer = session.answers.known(id);
  if (answer) return { answer };
  const stanza = await session.stanzas.find(id);
  if (stanza) return { answer: sendAgain(session, id, stanza) };
  return seal(session, {
    ...{ id, names, ...(prepared ?? (await prepare(session, message))) },
    isTail: !CHANGES.has(message.type),
    isKept: true,
  });
}

interface HandOverOptions {
  /** Null: it is prepared when it is handed over. */
  prepared: Prepared | null;
  /** How people are named on the wire. */
  names: Names;
}

interface Prepared {
  /** As the network names it. */
  chat: string;
  composed: Composed;
}

async function prepare(session: WhatsAppContext, message: OutboundMessage): Promise<Prepared> {
  const chat = await requireRecipient(session, message);
  const content = await withWireMentions(session, chat, message.content).catch((cause) => {
    throw unansweredOfGroup(session, cause);
  });
  const addressed = { ...message, to: chat, content };
  return { chat, composed: compose(addressed, await gather(session, addressed)) };
}

/** The network has the change, so a failure to update our copy does not fail the send. */
async function keepOwnChange(
  session: WhatsAppContext,
  { to, target, type, content }: OutboundMessage & { target: MessageTarget },
): Promise<void> {
  try {
    await keepWordsOf(session, await addressOf(session, to), target.id, type === 'edit' ? content : null);
  } catch (err) {
    session.deps.log.warn(
      { err, instance_id: session.request.instanceId },
      'storing an edited or deleted message failed',
    );
  }
}

interface Outgoing {
  id: string;
  chat: string;
  composed: Composed;
  /** It becomes the last message of its chat. */
  isTail: boolean;
  /** Its stanza is kept, to be sent again until its outcome is recorded. */
  isKept: boolean;
  /** The names of people on the wire. */
  names: Names;
}

/** Sends a message that is not repeated, and waits for the network's answer. */
export async function relay(
  session: WhatsAppContext,
  message: Omit<Outgoing, 'isKept' | 'names'>,
): Promise<Date> {
  const { answer } = await inOrder(session, async () => {
    const names = await session.addressing.names();
    return seal(session, { ...message, names, isKept: false });
  });
  return answer;
}

/**
 * Encrypts a message, stores it together with the ratchets that this moved, and then sends it. Stored with it
 * is its content: a device that could not read it requests it again, maybe from another worker.
 */
async function seal(session: WhatsAppContext, message: Outgoing): Promise<HandedOver> {
  const { id, chat, composed, isTail, isKept } = message;
  const { library, request, stanzas } = session;
  const connection = requireLive(session);
  const node = await encrypt(session, connection, message);
  const bytes = library.encodeBinaryNode(node);
  const { message: wire } = composed;
  const known = { id, chat, names: namesIn(node), message: wire, from: ownJid(session), fromMe: true };
  const [row, tail] = rowsOfMessage(library, known, stampOf(session));
  const rows = [row, ...(isTail ? [tail] : [])];
  const expected = session.answers.expect(id, { repeated: isKept });
  const write = () => {
    expected.sent();
    writeStanza(connection, bytes);
  };
  if (isKept) rows.push(stanzas.row(id, bytes));
  const stored = request.keys.write(rows, write);
  stored.catch((err) => {
    expected.fail(err);
    fail(session, err);
  });
  if (isKept) stanzas.keep(id, { bytes, stored });
  return expected;
}

function namesIn({ attrs }: WireNode): Names {
  return attrs.addressing_mode === 'lid' || attrs.to?.endsWith('@lid') ? 'ids' : 'numbers';
}

/** The ratchets that it moves are stored with the next write. */
async function encrypt(
  session: WhatsAppContext,
  { socket }: Connection,
  { id, chat, names, isTail, composed: { message, attributes, meta } }: Outgoing,
): Promise<WireNode> {
  const statusJidList =
    chat === STATUS_BROADCAST ? await wireNames(socket, await audienceOf(session, isTail), names) : undefined;
  const options = {
    messageId: id,
    additionalAttributes: attributes ?? {},
    additionalNodes: meta ? [{ tag: 'meta', attrs: meta }] : [],
    statusJidList,
  };
  try {
    const to = await wireName(socket, chat, names);
    const node = await session.request.keys.collect(() =>
      takeStanza(id, () => socket.relayMessage(to, message, options)),
    );
    requireDevice(session, chat, node);
    return node;
  } catch (cause) {
    throw unanswered(session, cause);
  }
}

/** The next connection sends again any stanza that this one does not take. */
function writeStanza({ socket }: Connection, bytes: Uint8Array): void {
  socket.sendRawMessage(bytes).catch(() => undefined);
}

/** Sends the same bytes: whoever has them already cannot decrypt them a second time. */
async function sendAgain(session: WhatsAppContext, id: string, stanza: Stanza): Promise<Date> {
  const expected = session.answers.expect(id, { repeated: true });
  try {
    await stanza.stored;
    writeStanza(requireLive(session), stanza.bytes);
    expected.sent();
  } catch (err) {
    expected.fail(err);
  }
  return expected.answer;
}

async function gather(session: WhatsAppContext, message: OutboundMessage): Promise<Ingredients> {
  const now = session.deps.clock.now();
  const find = (chat: string, id: string | undefined) => (id ? findNamed(session, chat, id) : null);
  const [quoted, target, source, status] = await Promise.all([
    message.status ? null : find(message.to, message.quotedId),
    find(message.to, message.target?.id),
    message.source ? find(await sourceChatOf(session, message.source.chat), message.source.id) : null,
    find(STATUS_BROADCAST, message.status?.id),
  ]);
  const timer = await readTimer(session, message.to);
  const kind = message.type.replace(/^status_/, '');
  const media = message.media && (await uploadMedia(transferOf(session), kind, message.media, now));
  return { now, secret: Buffer.from(drawBytes(32)), media, timer, quoted, target, source, status };
}

/** Our own message may be stored under another number than it was sent to. */
function sourceChatOf(session: WhatsAppContext, chat: string): Promise<string> {
  return addressOf(session, chat as OutboundMessage['to']).catch(() => chat);
}
