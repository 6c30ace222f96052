import type { LibrarySocket, WireNode } from './library-types.ts';
import type { WhatsAppContext } from './session-context.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

/** The parts of an account's state, by the network's names. */
const COLLECTIONS: ReadonlySet<string> = new Set([
  'critical_block',
  'critical_unblock_low',
  'regular_high',
  'regular_low',
  'regular',
]);

/** Fetches the other collections named by a notification: the library fetches only the first. */
export async function syncOtherCollections(socket: LibrarySocket, node: WireNode): Promise<void> {
  const [first, ...others] = childrenOf(node)
    .filter(({ tag }) => tag === 'collection')
    .map(({ attrs }) => attrs.name ?? '');
  const names = new Set(others.filter((name) => name !== first && COLLECTIONS.has(name)));
  if (names.size > 0) await socket.resyncAppState([...names], false);
}

/**
 * Completes the answer to a query for changes. The library repeats the query for each collection that is
 * missing or has more changes to come, without a pause and without end, whatever the network answers. It takes a change
 * of ours for done though the network refused it, so a refusal becomes the answer. Returns whether the query was about
 * all of the state, of which the network may leave some out.
 */
export function endSyncs(frame: unknown): boolean {
  const iq = frame as WireNode;
  const sync = iq.tag === 'iq' ? childOf(iq, 'sync') : undefined;
  if (!sync) return false;
  const given = [...childrenOf(sync)];
  const refusal = given.length === 1 ? childOf(given[0], 'error') : undefined;
  if (refusal) {
    iq.content = [refusal];
    return false;
  }
  // Collections that do arrive have increasing versions, so they end by themselves.
  for (const { attrs, content: changes } of given) if (!changes?.length) attrs.has_more_patches = 'false';
  const names = new Set(given.map(({ attrs }) => attrs.name));
  const left = [...COLLECTIONS].filter((name) => !names.has(name));
  sync.content = [...given, ...left.map((name) => ({ tag: 'collection', attrs: { name } }))];
  return given.length > left.length;
}

/**
 * Fetches the account's state when its key has come. The library does so after a pairing only if the phone gives its
 * history within 20 seconds.
 */
export function syncLate(session: WhatsAppContext, socket: LibrarySocket): void {
  const { accountSyncCounter: logins, myAppStateKeyId: key } = session.creds;
  if (session.isStateFetched || !logins || !key) return;
  session.isStateFetched = true;
  socket.resyncAppState([...COLLECTIONS], false).catch(() => {
    session.isStateFetched = false;
  });
}

/** The network's code for a change of something that another device has changed just before. */
const CONFLICT = 409;
const TRIES = 4;

/** Changes the account's state. The library fetches the changes of others before each try. */
export async function changeState<T>(change: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await change();
    } catch (err) {
      if ((err as { data?: unknown } | null)?.data !== CONFLICT || left === 1) throw err;
    }
  }
}
