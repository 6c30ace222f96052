/** Questions to a list of bad addresses, and the meaning of its answers: names and numbers, without I/O. */
import ipaddr from 'ipaddr.js';

/** The answer of one list for one address. `listed` null: it gave none, and `reason` tells why. */
export interface ZoneAnswer {
  listed: boolean | null;
  /** The addresses that it answered, which stand for what the address is listed for. */
  code: string | null;
  reason: string | null;
}

export const CLEAN: ZoneAnswer = { listed: false, code: null, reason: null };

/**
 * The name under which a list knows an address (RFC 5782): its octets, or the digits of an IPv6 address, in reverse.
 * An IPv4 address in IPv6 form is the IPv4 address.
 */
export function nameInZone(ip: string, zone: string): string {
  const address = ipaddr.process(ip);
  const bytes = address.toByteArray();
  const labels =
    address.kind() === 'ipv4'
      ? bytes.map(String)
      : bytes.flatMap((byte) => [...byte.toString(16).padStart(2, '0')]);
  return `${labels.reverse().join('.')}.${zone}`;
}

/** Reads the A records of an answer: 127.0.0.x is a listing, anything else says nothing of the address. */
export function readListing(addresses: readonly string[]): ZoneAnswer {
  if (addresses.length === 0) return CLEAN;
  const codes = addresses.filter((address) => address.startsWith('127.0.0.')).sort();
  if (codes.length > 0) return { listed: true, code: codes.join(', '), reason: null };
  const code = [...addresses].sort().join(', ');
  // 127.255.255.x: asked too often, or by a resolver that the list does not serve.
  const refused = addresses.some((address) => address.startsWith('127.255.255.'));
  return {
    listed: null,
    code,
    reason: refused ? 'the list refused the question' : 'not the answer of a list',
  };
}

/** Reads a failed look-up, by the code of `node:dns`. */
export function readFailure(code: string | undefined): ZoneAnswer {
  if (code === 'ENOTFOUND' || code === 'ENODATA') return CLEAN;
  const late = code === 'ETIMEOUT' || code === 'ECANCELLED';
  return { listed: null, code: null, reason: late ? 'no answer in time' : 'the look-up failed' };
}
