import ipaddr from 'ipaddr.js';

/**
 * The IANA IPv4 special-purpose address registry, globally reachable anycast included: no legitimate endpoint has such
 * an address.
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '240.0.0.0/4',
];
/** Not in that registry, and nothing of the public internet either. */
const OTHER_IPV4 = [
  // Multicast.
  '224.0.0.0/4',
  // Alibaba's metadata service is in shared address space, Oracle's in its own; 100.64/10 and 192.0.0/24 cover both.
  // Azure's wire server is a public address that only tenants of a host can reach.
  '168.63.129.16/32',
];
const BLOCKED_IPV4 = [...SPECIAL_IPV4, ...OTHER_IPV4].map((range) => ipaddr.IPv4.parseCIDR(range));

/**
 * Only 2000::/3 is routed. Loopback, mapped and compatible addresses, local NAT64 (64:ff9b:1::/48), the discard
 * prefix, segment routing, local, link-local and multicast addresses lie outside of it.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** The ranges of the IANA IPv6 special-purpose address registry. */
const BLOCKED_IPV6 = [
  // Protocol assignments: Teredo, benchmarks, ORCHID, drone identifiers and others.
  '2001::/23',
  '2001:db8::/32',
  // 6to4, whose relays are gone (RFC 7526): such an address reaches only a private one, if any.
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
].map((range) => ipaddr.IPv6.parseCIDR(range));

/** `::1.2.3.4`, which the parser takes for a mapped address, and systems for one of an unused range. */
const COMPATIBLE = /^::\d{1,3}\./;

/** The well-known prefix by which networks without IPv4 reach it: as public as the address that it carries. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * True when an outbound request must not go to this address. Blocked are all special-purpose addresses of the
 * registries (loopback, private, link-local with the metadata services of clouds, documentation and so on), multicast
 * and reserved addresses, and any of these inside a mapped, NAT64, 6to4 or Teredo address. A text that is no address
 * counts as blocked.
 */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || COMPATIBLE.test(address)) return true;
  const parsed = ipaddr.parse(address);
  return parsed.kind() === 'ipv4'
    ? isPrivateIPv4(parsed as ipaddr.IPv4)
    : isPrivateIPv6(parsed as ipaddr.IPv6);
}

function isPrivateIPv4(address: ipaddr.IPv4): boolean {
  return address.range() !== 'unicast' || BLOCKED_IPV4.some((range) => address.match(range));
}

function isPrivateIPv6(address: ipaddr.IPv6): boolean {
  if (address.isIPv4MappedAddress()) return isPrivateIPv4(address.toIPv4Address());
  if (address.match(NAT64)) return isPrivateIPv4(new ipaddr.IPv4(address.toByteArray().slice(12)));
  return !address.match(GLOBAL_IPV6) || BLOCKED_IPV6.some((range) => address.match(range));
}
