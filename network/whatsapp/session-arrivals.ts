/** Reports received messages to the owner, and acknowledges them once stored. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type {
  HistoryMessage,
  InboundMessage,
  NetworkChange,
  SessionKey,
} from '@posthorn/core/network/driver.ts';
import { ITEM_BYTES, sizeOf } from './intake.ts';
import { idOf, rowsOfMessage } from './known-messages.ts';
import type { LibraryMessage } from './library-types.ts';
import { copiesOf, toldCopy } from './own-lists.ts';
import { authorsOf, keepWordsOf, mayChange } from './session-changes.ts';
import { type Connection, isOwn, nameOf, ownJid, stampOf, type WhatsAppContext } from './session-context.ts';
import { openSealed } from './session-secrets.ts';
import { learnTimer } from './session-timers.ts';
import { withSecret } from './wire/content.ts';
import { given } from './wire/given.ts';
import { isId } from './wire/ids.ts';
import { type Arrived, envelopeOf, type Read, readArrived } from './wire/inbound.ts';
import type { MediaRef } from './wire/inbound-media.ts';
import { chatOf, isList, isOurChat, withoutDevice } from './wire/jids.ts';
import { dateOfSeconds } from './wire/numbers.ts';
import type { WireMessage } from './wire/wire-types.ts';
import { withOurMentions } from './wire-names.ts';

/** Hands over one message, and drops its plain text when it is recorded. */
export function onMessage(session: WhatsAppContext, { inbox }: Connection, message: LibraryMessage): void {
  const id = message.key.id ?? '';
  inbox.claim(id);
  const { remoteJid, fromMe, participant } = message.key;
  if (isList(remoteJid ?? '') && (fromMe || isOwn(session, participant ?? '')))
    message.recipients = inbox.recipientsOf(id);
  const release = session.intake.hold(ITEM_BYTES + sizeOf(message.message));
  session.messages
    .take(message)
    .then(
      () => inbox.done(id),
      () => undefined,
    )
    .finally(release);
}

/** A message that is stored under its id before it is told. */
interface Incoming {
  arrived: Arrived;
  told: InboundMessage;
}

/** Records messages in their order: those in a row that change no other are stored and told together. */
export async function recordMessages(
  session: WhatsAppContext,
  messages: readonly LibraryMessage[],
): Promise<void> {
  const together: Incoming[] = [];
  const given: LibraryMessage[] = [];
  for (const message of messages.flatMap(copiesOf)) {
    const arrived = await arrivedOf(session, message);
    if (!arrived) continue;
    const withheld = await findWithheld(session, arrived);
    if (withheld) given.push(message);
    // The library learns numbers from its own questions, too: they are told before the first message that has them.
    const { participant, remoteJid } = message.key;
    await tellLid(session, participant || remoteJid!, participant ? arrived.from : arrived.chat);
    await learnTimer(session, arrived.chat, arrived.message);
    let read = readOrNull(session, () => readArrived(arrived)) ?? unreadable(arrived);
    if (message.isGivenUp && read.kind === 'none') read = unreadable(arrived);
    if (read.kind === 'sealed') {
      // The message with the secret may have come together with it.
      await recordTogether(session, together.splice(0));
      const opened = await openSealed(session, arrived, read);
      // A comment is a message, which somebody would miss.
      read = opened.kind === 'none' && read.use === 'Enc Comment' ? unreadable(arrived) : opened;
    }
    if (read.kind === 'message') {
      if (!message.isGivenUp && withheld?.isTold) read = lateWords(read.message);
      else {
        const content = await withOurMentions(session, read.message.content);
        const told = { ...read.message, content };
        together.push({ arrived, told: message.recipients ? toldCopy(told) : told });
        // The other copies find its file.
        if (message.recipients?.[0]?.jid === message.key.remoteJid && told.media)
          await recordTogether(session, together.splice(0));
      }
    }
    if (read.kind !== 'change') continue;
    await recordTogether(session, together.splice(0));
    await recordChange(session, arrived, read.change);
  }
  await recordTogether(session, together);
  await session.withheld.recorded(given);
}

/** The withheld message that has now arrived as this one. */
async function findWithheld(session: WhatsAppContext, { id, chat, from }: Arrived) {
  const found = await session.withheld.find(id);
  const about = found && (await arrivedOf(session, { ...found.message, isGivenUp: true }));
  return about?.chat === chat && about.from === from ? found : undefined;
}

/** A message that was told without content cannot be told again: what it says comes as new words. */
function lateWords({ networkId, chat, from, at, content }: InboundMessage): Read {
  const { text, caption, mentions } = content;
  const words = given({ text, caption, mentions });
  return { kind: 'change', change: { networkId, chat, from, at, kind: 'edited', content: words } };
}

async function recordChange(
  session: WhatsAppContext,
  { chat, fromMe }: Arrived,
  read: NetworkChange,
): Promise<void> {
  const change = fromMe ? { ...read, fromMe } : read;
  if (!(await mayChange(session, change))) return;
  await session.sink.changes([
    change.kind === 'edited'
      ? { ...change, content: await withOurMentions(session, change.content) }
      : change,
  ]);
  // As it came: quotes and forwards name people as the network does.
  if (change.kind !== 'starred')
    await keepWordsOf(session, chat, change.networkId, change.kind === 'edited' ? change.content : null);
}

/** Nothing refers to these, and they are never the last message of a chat. */
const ABOUT_OTHERS: ReadonlySet<string> = new Set(['reaction', 'poll_vote']);

/**
 * Stores messages that are not stored already, and tells them; but not those under whose id someone else has sent a
 * message of the same chat.
 */
async function recordTogether(session: WhatsAppContext, messages: readonly Incoming[]): Promise<void> {
  if (messages.length === 0) return;
  const { library, request, sink } = session;
  const isStored = ({ arrived, told }: Incoming) => !ABOUT_OTHERS.has(told.type) && isId(arrived.id);
  const known = await authorsOf(
    session,
    messages.filter(isStored).map(({ arrived }) => arrived),
  );
  const rows: SessionKey[] = [];
  const accepted: InboundMessage[] = [];
  for (const incoming of messages) {
    const { arrived, told } = incoming;
    const name = idOf(arrived.chat, arrived.id);
    const author = known.get(name);
    if (isStored(incoming) && author !== undefined && author !== arrived.from) continue;
    if (told.media) Object.assign(told.media.ref as MediaRef, { of: { chat: arrived.chat, id: arrived.id } });
    accepted.push(told);
    if (!isStored(incoming) || author !== undefined) continue;
    known.set(name, arrived.from);
    rows.push(
      ...(readOrNull(session, () => rowsOfMessage(library, arrived, stampOf(session, arrived.at))) ?? []),
    );
  }
  await Promise.all([
    rows.length > 0 ? request.keys.write(rows) : null,
    accepted.length > 0 ? sink.inbound(accepted) : null,
  ]);
}

/** A message with unreadable content. */
function unreadable(arrived: Arrived): Read {
  const said = { type: 'unknown', content: {}, unreadable: true };
  return { kind: 'message', message: { ...envelopeOf(arrived, {}), ...said } };
}

/** Null if `work` fails: senders can write any content, and one that cannot be read would fail again at each retry. */
function readOrNull<T>(session: WhatsAppContext, work: () => T): T | null {
  try {
    return work();
  } catch (err) {
    session.deps.log.warn({ err, instance_id: session.request.instanceId }, 'reading a message failed');
    return null;
  }
}

/**
 * Stands for a message to be viewed once: the network gives it to the phone alone, and tells linked devices only that
 * there is one.
 */
const VIEW_ONCE: WireMessage = { viewOnceMessageV2: { message: {} } };

/** The message with our names for its chat and author; null if it is not for us. */
async function arrivedOf(session: WhatsAppContext, message: LibraryMessage): Promise<Arrived | null> {
  const { messageTimestamp, pushName } = message;
  const wire = message.message ?? (message.key.isViewOnce ? VIEW_ONCE : message.isGivenUp ? {} : null);
  const key = { ...message.key, participant: message.key.participant || message.participant };
  const shownIn = chatOf(key);
  if (!wire || !key.id || !key.remoteJid || !isOurChat(withoutDevice(shownIn))) return null;
  // Internal messages between the account's devices.
  if (message.category === 'peer') return null;
  const author = key.participant || key.remoteJid;
  // In statuses the library knows us only by our number.
  const fromMe = key.fromMe === true || (!!key.participant && isOwn(session, key.participant));
  const list = isList(key.remoteJid) ? key.remoteJid : undefined;
  // To a list of our own, and nothing says who is on it.
  if (list && fromMe) return null;
  const alt = key.participantAlt ?? otherNameOfChat(session, key);
  const chat = await nameOf(session, shownIn, otherNameOfChat(session, key));
  const from = fromMe ? ownJid(session) : await nameOf(session, author, alt);
  await tellLid(session, author, alt);
  const at = dateOfSeconds(messageTimestamp, session.deps.clock.now());
  return {
    ...{ id: key.id, chat, list, from, fromMe, pushName: pushName ?? '', at },
    names: author.endsWith('@lid') ? 'ids' : 'numbers',
    message: withSecret(wire, message.messageSecret),
  };
}

/** For our own messages, the other name may be our own instead of the chat's. */
function otherNameOfChat(session: WhatsAppContext, key: LibraryMessage['key']): string | null | undefined {
  const { remoteJid, remoteJidAlt: alt } = key;
  return alt && isOwn(session, alt) && !isOwn(session, key.participant || (remoteJid ?? '')) ? null : alt;
}

/** Reports the phone of an anonymous id, once per session. */
async function tellLid(
  session: WhatsAppContext,
  one: string,
  other: string | null | undefined,
): Promise<void> {
  if (!other) return;
  const [a, b] = [withoutDevice(one), withoutDevice(other)];
  const lid = a.endsWith('@lid') ? a : b;
  const phone = a.endsWith('@lid') ? b : a;
  const name = `${lid} ${phone}`;
  if (!lid.endsWith('@lid') || !phone.endsWith('@s.whatsapp.net') || session.reportedLids.has(name)) return;
  const at = session.deps.clock.now();
  await session.sink.facts([{ kind: 'lid', lid, phone: phone.split('@', 1)[0]!, at }]);
  session.reportedLids.add(name);
}

const STATUSES: Readonly<Record<number, NonNullable<HistoryMessage['status']>>> = {
  2: 'sent',
  3: 'delivered',
  4: 'read',
  5: 'played',
};

/** Past messages, oldest first within a chat; without unreadable ones and those that change others. */
export async function readHistory(
  session: WhatsAppContext,
  messages: readonly LibraryMessage[],
): Promise<HistoryMessage[]> {
  const past: HistoryMessage[] = [];
  for (const message of messages) {
    const arrived = await arrivedOf(session, message);
    if (!arrived || arrived.chat === STATUS_BROADCAST) continue;
    const read = readOrNull(session, () => readArrived(arrived));
    if (read?.kind !== 'message') continue;
    const status = arrived.fromMe ? STATUSES[message.status ?? 2] : undefined;
    const content = await withOurMentions(session, read.message.content);
    past.push({ ...read.message, content, fromMe: arrived.fromMe, ...(status ? { status } : {}) });
    await keepPast(session, arrived);
  }
  // A history begins with the newest message, and many have the same second.
  return past.reverse().sort((one, other) => one.at.getTime() - other.at.getTime());
}

async function keepPast(session: WhatsAppContext, arrived: Arrived): Promise<void> {
  if (!isId(arrived.id)) return;
  const rows = readOrNull(session, () =>
    rowsOfMessage(session.library, arrived, stampOf(session, arrived.at)),
  );
  if (rows) await session.request.keys.write([rows[0]]);
}
