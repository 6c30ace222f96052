/** Reads elements of the network's protocol. */
import type { WireNode } from '../library-types.ts';

/** The elements within another; none if it has bytes, a text or nothing. */
export function childrenOf(node: WireNode | undefined): readonly WireNode[] {
  return Array.isArray(node?.content) ? (node.content as readonly WireNode[]) : [];
}

export function childOf(node: WireNode | undefined, tag: string): WireNode | undefined {
  return childrenOf(node).find((each) => each.tag === tag);
}
