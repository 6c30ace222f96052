/** The network route of an instance, direct or by a proxy, for both its socket and its media. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { lookup } from 'node:dns';
import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction, Socket } from 'node:net';
import { isPrivateAddress } from '@posthorn/core/platform/http/address-ranges.ts';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { SocksProxyAgent } from 'socks-proxy-agent';

export interface RouteOptions {
  proxy: string | null;
  /** A certificate to trust besides the system's, e.g. of simulated networks. */
  ca?: string | undefined;
  /** Whether proxies may be at private addresses. */
  allowPrivate: boolean;
}

/** The agent for connections; undefined: the default of Node.js. */
export function createRoute({ proxy, ca, allowPrivate }: RouteOptions): Agent | undefined {
  if (proxy === null) return ca === undefined ? undefined : new HttpsAgent({ ca, keepAlive: false });
  const { protocol, hostname, username, password } = new URL(proxy);
  // The agent decodes them beside an open socket that nobody listens to yet: a fault of that would end the process.
  for (const part of [username, password]) decodeURIComponent(part);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) !== 0 && isPrivateAddress(host))
    throw new Error('the proxy is at a private address');
  const resolve = allowPrivate ? {} : { lookup: publicLookup };
  const trust = ca === undefined ? {} : { ca };
  if (protocol === 'socks5:') {
    // The proxy resolves names: this machine may not be able to, and its DNS queries should not reveal them.
    const agent = new SocksProxyAgent(proxy.replace(/^socks5:/, 'socks5h:'), {
      socketOptions: resolve as never,
      ...trust,
    } as never);
    return withTrust(agent, trust);
  }
  return withTrust(new HttpProxyAgent(proxy, resolve), trust);
}

/** Longer than the answer of any proxy to CONNECT. */
const ANSWER_MAX_BYTES = 64 * 1024;

/**
 * The package keeps a proxy's answer until its head has ended, and searches all of it again with each piece: an answer
 * without an end took all memory, and all time of the process.
 */
class HttpProxyAgent extends HttpsProxyAgent<string> {
  override async connect(...request: Parameters<HttpsProxyAgent<string>['connect']>): Promise<Socket> {
    let release: () => void = () => undefined;
    const bound = (message: unknown) => {
      release = boundAnswer((message as { socket: Socket }).socket);
    };
    // The package opens its socket before it waits for anything, and shows it to nobody.
    subscribe('net.client.socket', bound);
    const connecting = super.connect(...request);
    unsubscribe('net.client.socket', bound);
    return connecting.finally(() => release());
  }
}

/** Ends the socket when more than {@link ANSWER_MAX_BYTES} arrive before the returned function is called. */
function boundAnswer(socket: Socket): () => void {
  let bytes = 0;
  socket.push = (chunk: Buffer | null, encoding) => {
    bytes += chunk?.length ?? 0;
    if (bytes > ANSWER_MAX_BYTES) socket.destroy(new Error('the answer of the proxy has no end'));
    return Socket.prototype.push.call(socket, chunk, encoding);
  };
  return () => Reflect.deleteProperty(socket, 'push');
}

/**
 * The connection behind the proxy uses the options of the request, so the trusted certificate must be among
 * them.
 */
function withTrust(agent: Agent & { connect?: unknown }, trust: { ca?: string }): Agent {
  if (trust.ca === undefined) return agent;
  const { connect } = agent as { connect: (request: unknown, options: object) => Promise<unknown> };
  return Object.assign(agent, {
    connect: (request: unknown, options: object) => connect.call(agent, request, { ...options, ...trust }),
  });
}

/** Resolves names only to public addresses: a name may resolve to anything. */
const publicLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (err, addresses) => {
    if (err) return done(err, '', 0);
    if (addresses.length === 0 || addresses.some(({ address }) => isPrivateAddress(address))) {
      const blocked = Object.assign(new Error('the proxy is at a private address'), { code: 'EBLOCKED' });
      return done(blocked, '', 0);
    }
    if (options.all) return done(null, addresses as never);
    done(null, addresses[0]!.address, addresses[0]!.family);
  });
};
