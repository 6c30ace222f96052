/** The network's answers to sends, in a session; see `answers.ts`. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { WireNode } from './library-types.ts';
import { nameOf, ownJid, type WhatsAppContext } from './session-context.ts';
import { onLimited } from './time-lock.ts';

const LIMITED = '463';

/** Handles the network's answer to a send. */
export function onAck(session: WhatsAppContext, { attrs }: WireNode): void {
  const { id: networkId = '', from, error } = attrs;
  if (error === LIMITED) onLimited(session);
  // Its members may be others than those it was encrypted for.
  if (error && from) session.groups.changed(from);
  const at = session.answers.hear(attrs);
  if (!at || !from) return;
  session.receipts
    .run(async () => {
      const chat = from === STATUS_BROADCAST ? from : await nameOf(session, from);
      await session.sink.receipts([{ networkId, kind: 'sent', chat, by: ownJid(session), at }]);
    })
    .catch(() => undefined);
}

/** From now on these messages are not sent again with the same bytes. */
export function forgetAnswersAndStanzas(session: WhatsAppContext, ids: readonly string[]): void {
  session.answers.forget(ids);
  session.stanzas.forget(ids);
}
