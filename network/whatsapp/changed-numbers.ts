/** People who have taken another number, as the network tells whoever has them as a contact. */
import { isLidJid, isUserJid } from '@posthorn/contract/jid.ts';
import type { WireNode } from './library-types.ts';
import type { Connection, WhatsAppContext } from './session-context.ts';
import { lidFact } from './session-facts.ts';
import { tell } from './tell-facts.ts';
import { withoutDevice } from './wire/jids.ts';
import { childOf } from './wire/nodes.ts';

/** Somebody else may have the former number by now: a message to it must not reach the person who had it before. */
export function onChangedNumber(session: WhatsAppContext, { socket }: Connection, node: WireNode): void {
  const { old: former = '', new: pn = '', new_lid: lid = '' } = childOf(node, 'modify')?.attrs ?? {};
  session.accounts.forget(withoutDevice(former));
  if (!isLidJid(withoutDevice(lid)) || !isUserJid(withoutDevice(pn))) return;
  tell(session, async () => {
    await socket.signalRepository.lidMapping.storeLIDPNMappings([{ lid, pn }]);
    return lidFact(session, withoutDevice(lid), withoutDevice(pn));
  });
}
