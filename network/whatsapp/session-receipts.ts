/** Reports receipts to the owner, and acknowledges them once recorded. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { NetworkFact, NetworkReceipt } from '@posthorn/core/network/driver.ts';
import { idInChat } from '@posthorn/core/platform/ids.ts';
import { ITEM_BYTES, sizeOf } from './intake.ts';
import { readLastHeard } from './known-messages.ts';
import type { WireNode } from './library-types.ts';
import {
  type Connection,
  type HeardReceipt,
  isOwn,
  nameOf,
  nextRevision,
  type WhatsAppContext,
} from './session-context.ts';
import { tell } from './tell-facts.ts';
import { isList, isOurChat, withoutDevice } from './wire/jids.ts';
import { childrenOf } from './wire/nodes.ts';
import { dateOfSeconds } from './wire/numbers.ts';

const RECEIPT_KINDS: ReadonlyMap<string, NetworkReceipt['kind']> = new Map([
  ['', 'delivered'],
  ['inactive', 'delivered'],
  ['read', 'read'],
  ['played', 'played'],
]);

/** `read-self` where the account tells nobody that it reads. */
const READINGS: ReadonlySet<string> = new Set(['read', 'read-self']);

/**
 * Handles a receipt for our message. The library acknowledges it right after this call; the frame gate holds
 * that back until the receipt is recorded.
 */
export function onReceipt(session: WhatsAppContext, { gate }: Connection, node: WireNode): void {
  const { type = '', from = '', participant } = node.attrs;
  if (READINGS.has(type) && isOwn(session, participant ?? from)) onOwnReading(session, node);
  const kind = RECEIPT_KINDS.get(type);
  if (!kind || !node.attrs.from || !node.attrs.id || node.attrs.recipient) return;
  const heard = heardIn(node, kind).filter(({ author }) => !isOwn(session, author));
  for (const receipt of heard) {
    const release = session.intake.hold(ITEM_BYTES + sizeOf(receipt.ids));
    gate.hold(session.takeReceipt(receipt).finally(release));
  }
}

/** Told behind what was read: a picture may be seen on the phone while it is downloaded here, and would count as unread. */
function onOwnReading(session: WhatsAppContext, node: WireNode): void {
  const tellIt = () => tell(session, () => ownReading(session, node));
  const before = session.messages.beside();
  if (before) void before.then(tellIt);
  else tellIt();
}

/**
 * The user has read messages on another device. The chat is read when the last one that came is among them: what came
 * since then was not seen there. Sends of the instance may follow it.
 */
async function ownReading(session: WhatsAppContext, node: WireNode): Promise<NetworkFact[]> {
  const { from = '', recipient = '' } = node.attrs;
  const chat = await nameOf(session, withoutDevice(isOwn(session, from) ? recipient : from));
  if (!isOurChat(chat) || chat === STATUS_BROADCAST) return [];
  const last = await readLastHeard(session.request.keys, chat);
  const ids = heardIn(node, 'read').flatMap((heard) => heard.ids);
  if (!last || !ids.includes(last.id)) return [];
  return [{ kind: 'chat', revision: nextRevision(session), chat, read: true, at: session.deps.clock.now() }];
}

function heardIn(node: WireNode, kind: HeardReceipt['kind']): HeardReceipt[] {
  const { id = '', from = '', participant, t } = node.attrs;
  const parts = childrenOf(node);
  const together = parts.filter(({ tag }) => tag === 'participants');
  // Many people read messages of a group or a status at once: each message names those who did.
  if (!participant && together.length > 0)
    return together.flatMap((each) =>
      childrenOf(each).flatMap(({ attrs: user }) =>
        user.jid && each.attrs.key
          ? [{ ids: [each.attrs.key], kind, from, author: user.jid, t: user.t ?? t }]
          : [],
      ),
    );
  const items = childrenOf(parts[0]).flatMap((item) => (item.attrs.id ? [item.attrs.id] : []));
  return [{ ids: [id, ...items], kind, from, author: participant ?? from, t }];
}

export async function recordReceipts(
  session: WhatsAppContext,
  heard: readonly HeardReceipt[],
): Promise<void> {
  const receipts: NetworkReceipt[] = [];
  for (const { ids, kind, from, author, t } of heard) {
    const by = await nameOf(session, author);
    const chat = from === STATUS_BROADCAST ? from : isList(from) ? by : await nameOf(session, from);
    const at = dateOfSeconds(t, session.deps.clock.now());
    const nameIn = (id: string) => (isList(from) ? idInChat(id, chat) : id);
    receipts.push(...ids.map((id) => ({ networkId: nameIn(id), kind, chat, by, at })));
  }
  await session.sink.receipts(receipts);
}
