import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { beforeFirst } from '../before-first.ts';

/** A range of addresses, e.g. of trusted proxies. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** The address of the client that sent a request, without a zone and never as IPv4 in IPv6. */
export type AddressReader = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

const UNKNOWN = 'unknown';
/** No real chain of proxies is longer; the rest of a header is not worth the time to read it. */
const HOPS_MAX = 20;

/** Parses `10.0.0.0/8` or a single address. Throws what is wrong with it. */
export function parseAddressRange(text: string): AddressRange {
  // The parser also takes what old programs write: to it, 10 is 0.0.0.10.
  if (isIP(text.split('/')[0] ?? '') === 0) throw new Error(`${text} is no address and no range`);
  return text.includes('/') ? ipaddr.parseCIDR(text) : single(ipaddr.parse(text));
}

function single(address: ipaddr.IPv4 | ipaddr.IPv6): AddressRange {
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Determines the client's address through the trusted proxies. X-Forwarded-For is read from the right: each trusted
 * hop vouches for the one before it, and the first that is not trusted is the client. Everything further left is
 * the client's own claim, which anybody can make up.
 */
export function createAddressReader(trusted: readonly AddressRange[]): AddressReader {
  const isTrusted = (address: ipaddr.IPv4 | ipaddr.IPv6) =>
    trusted.some(([range, bits]) => range.kind() === address.kind() && address.match([range, bits] as never));
  return ({ headers, socket }) => {
    let address = parseAddress(socket.remoteAddress ?? '');
    if (address === null) return UNKNOWN;
    if (trusted.length === 0 || headers['x-forwarded-for'] === undefined) return textOf(address);
    const hops = [headers['x-forwarded-for']].flat().join(',').split(',').slice(-HOPS_MAX);
    while (hops.length > 0 && isTrusted(address)) {
      // A hop that is no address was not added by one of our proxies: the last valid one stays.
      const before = parseAddress(hopAddress(hops.pop()!));
      if (before === null) break;
      address = before;
    }
    return textOf(address);
  };
}

/**
 * The key by which a client is counted: an IPv4 address, or the /64 of an IPv6 one. One line gets a /64, and with it 2^64
 * addresses.
 */
export function addressGroup(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null || parsed.kind() === 'ipv4') return address;
  const network = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/** True for a request that came from this machine, and not through a proxy on it. */
export function isLocal({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  const forwarded = headers['x-forwarded-for'] ?? headers.forwarded ?? headers.via ?? headers['x-real-ip'];
  return forwarded === undefined && parseAddress(socket.remoteAddress ?? '')?.range() === 'loopback';
}

function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const bare = beforeFirst(text, '%');
  // Only four decimal parts, or a text with a colon: the library would also take `1` and `0x7f.1` for IPv4.
  if (!bare.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(bare)) return null;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : null;
}

function textOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  return address.toString();
}

/** `203.0.113.7:4711`, `[2001:db8::1]:4711` and `2001:db8::1` all occur in practice. */
function hopAddress(hop: string): string {
  const text = hop.trim();
  if (text.startsWith('[')) return beforeFirst(text.slice(1), ']');
  return text.indexOf(':') === text.lastIndexOf(':') ? beforeFirst(text, ':') : text;
}
