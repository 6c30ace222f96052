/** The way out of an instance: directly, or by a proxy, for its socket and its media both. */
import { lookup } from 'node:dns';
import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPrivateAddress } from '@posthorn/core/platform/http/address-ranges.ts';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { SocksProxyAgent } from 'socks-proxy-agent';

export interface RouteOptions {
  proxy: string | null;
  /** A certificate to trust besides those of the system: of simulated networks. */
  ca?: string | undefined;
  /** Whether proxies may stand at private addresses. */
  allowPrivate: boolean;
}

/** What connections are made with; undefined: as Node.js does by itself. */
export function createRoute({ proxy, ca, allowPrivate }: RouteOptions): Agent | undefined {
  if (proxy === null) return ca === undefined ? undefined : new HttpsAgent({ ca, keepAlive: false });
  const { protocol, hostname } = new URL(proxy);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) !== 0 && isPrivateAddress(host))
    throw new Error('the proxy is at a private address');
  const resolve = allowPrivate ? {} : { lookup: publicLookup };
  const trust = ca === undefined ? {} : { ca };
  if (protocol === 'socks5:') {
    // Names are for the proxy to resolve: this machine may not be able to, and should not be seen to ask.
    const agent = new SocksProxyAgent(proxy.replace(/^socks5:/, 'socks5h:'), {
      socketOptions: resolve as never,
      ...trust,
    } as never);
    return withTrust(agent, trust);
  }
  return withTrust(new HttpsProxyAgent(proxy, resolve), trust);
}

/** The options of the connection behind the proxy are those of the request: what it trusts has to be among them. */
function withTrust(agent: Agent & { connect?: unknown }, trust: { ca?: string }): Agent {
  if (trust.ca === undefined) return agent;
  const { connect } = agent as { connect: (request: unknown, options: object) => Promise<unknown> };
  return Object.assign(agent, {
    connect: (request: unknown, options: object) => connect.call(agent, request, { ...options, ...trust }),
  });
}

/** Resolves names to public addresses alone: a name may lead anywhere. */
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
