/** The network's media servers; the answer is valid for a limited time. */
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import type { LibrarySocket, WireNode } from '../library-types.ts';
import { childOf, childrenOf } from '../wire/nodes.ts';

export interface MediaServers {
  hosts: readonly { hostname: string }[];
  auth: string;
}

/**
 * Returns the servers: those of the last answer while it is valid, or of a new query. Throws SendUnavailable if the
 * network does not answer.
 */
export type FindMediaServers = (source: 'known' | 'new query') => Promise<MediaServers>;

const QUESTION: WireNode = {
  tag: 'iq',
  attrs: { type: 'set', xmlns: 'w:m', to: '@s.whatsapp.net' },
  content: [{ tag: 'media_conn', attrs: {} }],
};

/** The library queries them too, but while connected it caches a failed query as the answer. */
export function createMediaServers(
  socket: Pick<LibrarySocket, 'query'>,
  nowMs: () => number,
): FindMediaServers {
  let known: { servers: MediaServers; untilMs: number } | null = null;
  let asked: Promise<MediaServers> | null = null;

  async function ask(): Promise<MediaServers> {
    const answer = await socket.query(structuredClone(QUESTION)).catch((cause) => {
      throw new SendUnavailable('the network did not answer the query for its media servers', { cause });
    });
    const named = childOf(answer, 'media_conn');
    const hosts = childrenOf(named).flatMap(({ tag, attrs: { hostname } }) =>
      tag === 'host' && hostname ? [{ hostname }] : [],
    );
    if (!named || hosts.length === 0) throw new SendUnavailable('the network names no media servers');
    const servers = { hosts, auth: named.attrs.auth ?? '' };
    known = { servers, untilMs: nowMs() + (Number(named.attrs.ttl) || 0) * 1000 };
    return servers;
  }

  return async (source) => {
    if (known && source === 'known' && nowMs() < known.untilMs) return known.servers;
    asked ??= ask().finally(() => {
      asked = null;
    });
    return asked;
  };
}
