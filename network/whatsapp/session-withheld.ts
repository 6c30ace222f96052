/** Messages that the network withholds from linked devices, in a session; see `withheld.ts`. */
import { namesOf } from './inbox.ts';
import type { WireNode } from './library-types.ts';
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
  const { id, from = '', type, category, edit } = node.attrs;
  if (!withheld || childOf(node, 'enc') || !isId(id) || !isOurChat(withoutDevice(from))) return;
  const kind = withheld.attrs.type ?? '';
  // Nobody misses a change of another message.
  if (category === 'peer' || edit || type === 'reaction' || NOT_NOTED.has(kind)) return;
  const me = namesOf(session.creds);
  const { fullMessage: message } = session.library.decodeMessageNode(node, me.id, me.lid);
  if (kind === VIEW_ONCE) message.key.isViewOnce = true;
  const noted = session.withheld.note(message, !NOT_ASKED.has(kind));
  connection.gate.hold(noted);
  noted.then(() => session.withheld.mayBeDue() && handOverDue(session, connection)).catch(() => undefined);
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
