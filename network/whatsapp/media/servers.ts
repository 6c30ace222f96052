/** The network's media servers, as it names them for a while. */
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import type { LibrarySocket, WireNode } from '../library-types.ts';

export interface MediaServers {
  hosts: readonly { hostname: string }[];
  auth: string;
}

/** Gives the servers; `fresh` asks the network anew. Throws SendUnavailable when it does not tell. */
export type FindMediaServers = (fresh: boolean) => Promise<MediaServers>;

const QUESTION: WireNode = {
  tag: 'iq',
  attrs: { type: 'set', xmlns: 'w:m', to: '@s.whatsapp.net' },
  content: [{ tag: 'media_conn', attrs: {} }],
};

/** The library asks for them too, but takes a question that failed once for the answer, as long as it is connected. */
export function createMediaServers(
  socket: Pick<LibrarySocket, 'query'>,
  nowMs: () => number,
): FindMediaServers {
  let known: { servers: MediaServers; untilMs: number } | null = null;
  let asked: Promise<MediaServers> | null = null;

  async function ask(): Promise<MediaServers> {
    const answer = await socket.query(structuredClone(QUESTION)).catch((cause) => {
      throw new SendUnavailable('the network does not name its media servers', { cause });
    });
    const named = childrenOf(answer).find(({ tag }) => tag === 'media_conn');
    const hosts = childrenOf(named).flatMap(({ tag, attrs: { hostname } }) =>
      tag === 'host' && hostname ? [{ hostname }] : [],
    );
    if (!named || hosts.length === 0) throw new SendUnavailable('the network names no media servers');
    const servers = { hosts, auth: named.attrs.auth ?? '' };
    known = { servers, untilMs: nowMs() + (Number(named.attrs.ttl) || 0) * 1000 };
    return servers;
  }

  return async (fresh) => {
    if (known && !fresh && nowMs() < known.untilMs) return known.servers;
    asked ??= ask().finally(() => {
      asked = null;
    });
    return asked;
  };
}

function childrenOf(node: WireNode | undefined): readonly WireNode[] {
  return Array.isArray(node?.content) ? (node.content as readonly WireNode[]) : [];
}
