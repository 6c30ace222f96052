/**
 * The network route of an instance for the library's own fetches: histories, and large parts of the account's
 * state.
 */
import { EventEmitter, once } from 'node:events';
import type { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { withTimeout } from '@posthorn/core/platform/process/with-timeout.ts';
import { buildConnector, type Dispatcher, Dispatcher1Wrapper, Agent as FetchAgent } from 'undici';

/** An agent that uses a proxy: it opens one connection at a time, including TLS. */
interface ProxyAgent {
  connect(request: unknown, options: object): Promise<Socket>;
}

const CONNECT_MS = 20_000;
/**
 * Maximum size of a fetch, which the library holds in memory: far above the size of any history or account
 * state.
 */
export const FETCHED_MAX_BYTES = 64 * 1024 * 1024;
/** The network's media servers. */
const HOST = /(?:^|\.)whatsapp\.net$/;

/**
 * Creates the `dispatcher` that makes `fetch` use `agent`. It connects only to the network's media servers,
 * by TLS: the paired phone, which may run any program, says where a history is, and a server may redirect.
 * Connections are made by the agent, so that proxies, their passwords and the refusal of private addresses
 * are handled in one place. An answer of more than {@link FETCHED_MAX_BYTES} fails. Wrapped, because the
 * `fetch` of Node.js may be older than this dispatcher.
 */
export function createFetchRoute(route: {
  agent: Agent | undefined;
  proxy: string | null;
  ca: string | undefined;
}): Dispatcher {
  const { agent, proxy, ca } = route;
  const byProxy = agent && proxy !== null;
  const connector = byProxy
    ? connectorOf(agent as unknown as ProxyAgent)
    : buildConnector({ timeout: CONNECT_MS, allowH2: false, ...(ca ? { ca } : {}) });
  const connect = toMediaServers(connector);
  return new Dispatcher1Wrapper(
    new FetchAgent({ connect, allowH2: false, maxResponseSize: FETCHED_MAX_BYTES }),
  );
}

function toMediaServers(connector: buildConnector.connector): buildConnector.connector {
  return (options, done) => {
    if (options.protocol !== 'https:' || !HOST.test(options.hostname))
      return done(new Error('only media servers of the network may be fetched from, over TLS'), null);
    connector(options, done);
  };
}

function connectorOf(agent: ProxyAgent): buildConnector.connector {
  return ({ hostname, port, servername }, done) => {
    const connecting = connectBy(agent, { host: hostname, port: Number(port) || 443, servername });
    withTimeout(connecting, CONNECT_MS, () => {
      throw Object.assign(new Error('the proxy or the media server did not answer'), { code: 'ETIMEDOUT' });
    }).then(
      (socket) => done(null, socket),
      (err: Error) => {
        done(err, null);
        connecting.then((socket) => socket.destroy()).catch(() => undefined);
      },
    );
  };
}

async function connectBy(
  agent: ProxyAgent,
  to: { host: string; port: number; servername: string | undefined },
): Promise<Socket> {
  // Agents expect requests of `node:http`, of which they use this much.
  const request = Object.assign(new EventEmitter(), { destroy() {} });
  const socket = await agent.connect(request, {
    ...{ host: to.host, port: to.port, secureEndpoint: true },
    ...(to.servername ? { servername: to.servername } : {}),
  });
  // A refusing proxy yields a socket without TLS, from which the request could read the refusal.
  if (!(socket instanceof TLSSocket)) throw new Error('the proxy refused the connection');
  await once(socket, 'secureConnect');
  return socket;
}
