/** Messages that the network withholds from linked devices, and those that cannot be opened, in a session; see `withheld.ts`. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { FrameGate } from './frame-gate.ts';
import { namesOf } from './inbox.ts';
import type { LibraryMessage, WireNode } from './library-types.ts';
import { onMessage } from './session-arrivals.ts';
import type { Connection, WhatsAppContext } from './session-context.ts';
import { isId } from './wire/ids.ts';
import { isOurChat, withoutDevice } from './wire/jids.ts';
import { childOf } from './wire/nodes.ts';

const LOOK_MS = 60_000;
/** A phone that was off may have been asked for long ago, or not at all. */
const ASKED_AGAIN_MAX = 100;

/** The library asks no phone for these, as nobody gives them to a linked device. */
const VIEW_ONCE = 'view_once_unavailable_fanout';
const NOT_ASKED: ReadonlySet<string> = new Set([VIEW_ONCE, 'hosted_unavailable_fanout']);
/** The library tells the first by itself, and nothing is told of bots. */
const NOT_NOTED: ReadonlySet<string> = new Set(['view_once', 'bot_unavailable_fanout']);

/**
 * Called before the library handles a message, which it then confirms: the frame gate holds that back until the
 * message is noted.
 */
export function noteWithheld(session: WhatsAppContext, connection: Connection, node: WireNode): void {
  if (session.withheld.mayBeDue()) handOverDue(session, connection);
  const withheld = childOf(node, 'unavailable');
  const kind = withheld?.attrs.type ?? '';
  if (!withheld || childOf(node, 'enc') || !isMissed(node.attrs) || NOT_NOTED.has(kind)) return;
  const message = envelopeOf(session, node.attrs);
  if (kind === VIEW_ONCE) message.key.isViewOnce = true;
  const noted = session.withheld.note(message, !NOT_ASKED.has(kind));
  connection.gate.hold(noted);
  noted.then(() => session.withheld.mayBeDue() && handOverDue(session, connection)).catch(() => undefined);
}

/** Nobody misses a change of another message. */
function isMissed({ id, from = '', type, category, edit }: WireNode['attrs']): boolean {
  return isId(id) && isOurChat(withoutDevice(from)) && category !== 'peer' && !edit && type !== 'reaction';
}

function envelopeOf({ creds, library }: WhatsAppContext, attrs: WireNode['attrs']): LibraryMessage {
  const me = namesOf(creds);
  return library.decodeMessageNode({ tag: 'message', attrs }, me.id, me.lid).fullMessage;
}

/**
 * A message cannot be opened. Its sender and the phone are asked for it, and may not answer. Called before it is confirmed,
 * which the frame gate holds back until it is noted.
 */
export function noteUnopened(session: WhatsAppContext, gate: FrameGate, attrs: WireNode['attrs']): void {
  // A status is over before it is due.
  if (!isMissed(attrs) || attrs.from === STATUS_BROADCAST) return;
  gate.hold(session.withheld.note(envelopeOf(session, attrs), true));
}

/** Asks the phone again for what earlier sessions did not get, and looks now and then for what is due. */
export function resumeWithheld(session: WhatsAppContext, connection: Connection): void {
  const { withheld } = session;
  const { socket } = connection;
  session.look = setInterval(() => {
    if (withheld.mayBeDue()) handOverDue(session, connection);
  }, LOOK_MS).unref();
  const ask = async () => {
    for (const { key, ...about } of (await withheld.open()).slice(-ASKED_AGAIN_MAX)) {
      const { remoteJid, fromMe, id, participant } = key;
      const cleanKey = { remoteJid, fromMe, id, participant };
      await socket.requestPlaceholderResend(cleanKey, { key, ...about });
    }
  };
  ask().catch(() => undefined);
}

function handOverDue(session: WhatsAppContext, connection: Connection): void {
  session.withheld
    .takeDue()
    .then((due) => {
      for (const message of due) onMessage(session, connection, message);
    })
    .catch(() => undefined);
}
