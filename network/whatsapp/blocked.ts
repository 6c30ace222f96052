/**
 * The people whom the account blocks. The network tells changes, some of them without saying whose: it is asked for
 * all of them then, and after a pairing.
 */
import type { NetworkFact } from '@posthorn/core/network/driver.ts';
import { KINDS } from './keys.ts';
import type { WireNode } from './library-types.ts';
import { nameOf, nextRevision, requireLive, type WhatsAppContext } from './session-context.ts';
import { tell } from './tell-facts.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

const ROW_ID = 'all';

async function readKnown(session: WhatsAppContext): Promise<string[] | undefined> {
  const rows = await session.request.keys.read(KINDS.blocked, [ROW_ID]);
  return rows.get(ROW_ID) as string[] | undefined;
}

/** Asks the network for all of them, if it was never asked since the pairing. */
export async function learnBlocked(session: WhatsAppContext): Promise<void> {
  if (!(await readKnown(session))) await askBlocked(session);
}

const QUESTION: WireNode = {
  tag: 'iq',
  attrs: { to: '@s.whatsapp.net', type: 'get', xmlns: 'blocklist' },
};

async function askBlocked(session: WhatsAppContext): Promise<void> {
  const answer = await requireLive(session).socket.query(structuredClone(QUESTION));
  const items = childrenOf(childOf(answer, 'list')).map(({ attrs }) => attrs);
  tell(session, async () => {
    const blocked: string[] = [];
    for (const { jid, pn_jid: other } of items) if (jid) blocked.push(await nameOf(session, jid, other));
    const known = (await readKnown(session)) ?? [];
    await session.request.keys.write([{ kind: KINDS.blocked, id: ROW_ID, value: blocked }]);
    const [now, before] = [new Set(blocked), new Set(known)];
    return [
      ...blocked.filter((jid) => !before.has(jid)).map((jid) => factOf(session, jid, true)),
      ...known.filter((jid) => !now.has(jid)).map((jid) => factOf(session, jid, false)),
    ];
  });
}

/** The account has changed something: the network names whom it blocks now, or says only that it is not as before. */
export function onAccountSync(session: WhatsAppContext, node: WireNode): void {
  const changed = childOf(node, 'blocklist');
  if (changed && childrenOf(changed).length === 0) askBlocked(session).catch(() => undefined);
}

/** The fact of a change. */
export async function blockedFact(
  session: WhatsAppContext,
  person: string,
  isBlocked: boolean,
  revision?: number,
): Promise<NetworkFact> {
  const jid = await nameOf(session, person);
  const known = await readKnown(session);
  if (known) {
    const others = known.filter((one) => one !== jid);
    const value = isBlocked ? [...others, jid] : others;
    await session.request.keys.write([{ kind: KINDS.blocked, id: ROW_ID, value }]);
  }
  return factOf(session, jid, isBlocked, revision);
}

function factOf(
  session: WhatsAppContext,
  jid: string,
  blocked: boolean,
  revision: number = nextRevision(session),
): NetworkFact {
  return { kind: 'blocked', revision, jid, blocked, at: session.deps.clock.now() };
}
