import type { LibrarySocket, WireNode } from './library-types.ts';

/** The parts of an account's state, as the network names them. */
const COLLECTIONS: ReadonlySet<string> = new Set([
  'critical_block',
  'critical_unblock_low',
  'regular_high',
  'regular_low',
  'regular',
]);

/** Fetches the changes that a notification names beside the first collection: the library fetches that one alone. */
export async function syncOtherCollections(socket: LibrarySocket, node: WireNode): Promise<void> {
  if (!Array.isArray(node.content)) return;
  const [first, ...others] = (node.content as readonly WireNode[])
    .filter(({ tag }) => tag === 'collection')
    .map(({ attrs }) => attrs.name ?? '');
  const names = new Set(others.filter((name) => name !== first && COLLECTIONS.has(name)));
  if (names.size > 0) await socket.resyncAppState([...names], false);
}

/**
 * Completes the answer to a question for changes. The library asks again for each collection that is not in it, or of
 * which there are more changes to come, without a pause and without an end, whatever the network answers.
 */
export function endSyncs(frame: unknown): void {
  const { tag, content } = frame as Partial<WireNode>;
  const sync =
    tag === 'iq' && Array.isArray(content) && (content as WireNode[]).find((each) => each.tag === 'sync');
  if (!sync) return;
  const given = Array.isArray(sync.content) ? (sync.content as WireNode[]) : [];
  // Those that come are counted by their versions, which grow.
  for (const { attrs, content: changes } of given) if (!changes?.length) attrs.has_more_patches = 'false';
  const names = new Set(given.map(({ attrs }) => attrs.name));
  const left = [...COLLECTIONS].filter((name) => !names.has(name));
  sync.content = [...given, ...left.map((name) => ({ tag: 'collection', attrs: { name } }))];
}
