/** Changes of groups that the library does not read; see `session-facts.ts` for the others. */
import type { WireNode } from './library-types.ts';
import { askGroup, ownJid, type WhatsAppContext } from './session-context.ts';
import { groupFact } from './session-facts.ts';
import { tell } from './tell-facts.ts';
import { childrenOf } from './wire/nodes.ts';

/**
 * Called before the library reads the notification. A group that was deleted becomes one that the account was taken out of: nobody is
 * in it any more. The members of one with a member who has another number are told whole.
 */
export function onGroupNotification(session: WhatsAppContext, node: WireNode): void {
  const changes = childrenOf(node);
  const tags = new Set(changes.map(({ tag }) => tag));
  if (tags.has('delete')) {
    const own: WireNode = { tag: 'participant', attrs: { jid: ownJid(session) } };
    const removal: WireNode = { tag: 'remove', attrs: {}, content: [own] };
    node.content = changes.map((change) => (change.tag === 'delete' ? removal : change));
  }
  if (tags.has('modify')) tellWhole(session, node.attrs.from ?? '').catch(() => undefined);
}

async function tellWhole(session: WhatsAppContext, jid: string): Promise<void> {
  const group = await askGroup(session, jid);
  tell(session, async () => [await groupFact(session, group)]);
}
