import type { LibrarySocket, WireNode } from './library-types.ts';
import { childrenOf } from './wire/nodes.ts';

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
 * missing or has more changes to come, without a pause and without end, whatever the network answers.
 */
export function endSyncs(frame: unknown): void {
  const { tag, content } = frame as Partial<WireNode>;
  const sync =
    tag === 'iq' && Array.isArray(content) && (content as WireNode[]).find((each) => each.tag === 'sync');
  if (!sync) return;
  const given = Array.isArray(sync.content) ? (sync.content as WireNode[]) : [];
  // Collections that do arrive have increasing versions, so they end by themselves.
  for (const { attrs, content: changes } of given) if (!changes?.length) attrs.has_more_patches = 'false';
  const names = new Set(given.map(({ attrs }) => attrs.name));
  const left = [...COLLECTIONS].filter((name) => !names.has(name));
  sync.content = [...given, ...left.map((name) => ({ tag: 'collection', attrs: { name } }))];
}
