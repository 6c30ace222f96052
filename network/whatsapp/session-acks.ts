/** The network's answers to sends, in a session; see `answers.ts`. */
import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { WireNode } from './library-types.ts';
import { nameOf, ownJid, type WhatsAppContext } from './session-context.ts';
import { onLimited } from './time-lock.ts';

const LIMITED = '463';
/** The library's kind of rows that say which devices have the key of a group. */
const KEY_HOLDERS = 'sender-key-memory';

/** Handles the network's answer to a send. */
export function onAck(session: WhatsAppContext, { attrs }: WireNode): void {
  const { id: networkId = '', from, error } = attrs;
  if (error === LIMITED) onLimited(session);
  if (error && from) onRefusal(session, from);
  const at = session.answers.hear(attrs);
  if (!at || !from) return;
  session.receipts
    .run(async () => {
      const chat = from === STATUS_BROADCAST ? from : await nameOf(session, from);
      await session.sink.receipts([{ networkId, kind: 'sent', chat, by: ownJid(session), at }]);
    })
    .catch(() => undefined);
}

function onRefusal(session: WhatsAppContext, chat: string): void {
  // Its members may be others than those it was encrypted for.
  session.groups.changed(chat);
  if (!isGroupJid(chat)) return;
  // The keys of the group that were with the message went to nobody. The library remembers who has them when it encrypts.
  const { sending, connection } = session;
  const forget = () => connection?.keys.set({ [KEY_HOLDERS]: { [chat]: null } });
  sending.last = sending.last.then(forget).catch(() => undefined);
}

/** From now on these messages are not sent again with the same bytes. */
export function forgetAnswersAndStanzas(session: WhatsAppContext, ids: readonly string[]): void {
  session.answers.forget(ids);
  session.stanzas.forget(ids);
}
