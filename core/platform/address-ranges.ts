import ipaddr from 'ipaddr.js';

/** NAT64 and 6to4 addresses carry an IPv4 address: bits of the network part before it. */
const EMBEDDED_IPV4 = [
  { range: '64:ff9b::/96', at: 12 },
  { range: '64:ff9b:1::/48', at: 12 },
  { range: '2002::/16', at: 2 },
].map(({ range, at }) => ({ range: ipaddr.IPv6.parseCIDR(range), at }));

/** Not private by name, but nothing of the public internet is there: metadata services, benchmarks, docs. */
const BLOCKED_IPV4 = [
  '0.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Alibaba's metadata service stands in shared space, Oracle's in its own; both are covered by 100.64/10
  // and 192.0.0/24. Azure's wire server is a public address that only tenants of a host can reach.
  '168.63.129.16/32',
].map((range) => ipaddr.IPv4.parseCIDR(range));

/** What the global unicast space does not hold stays unreachable: only 2000::/3 is routed. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
const BLOCKED_IPV6 = ['2001::/23', '2001:db8::/32', '3fff::/20'].map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * True when an outbound request must not go to this address: loopback, private, link-local (and with it
 * the cloud metadata services), multicast, reserved, and the same hidden in a mapped, NAT64 or 6to4
 * address. What does not parse is refused.
 */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
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
  for (const { range, at } of EMBEDDED_IPV4)
    if (address.match(range)) return isPrivateIPv4(new ipaddr.IPv4(address.toByteArray().slice(at, at + 4)));
  return !address.match(GLOBAL_IPV6) || BLOCKED_IPV6.some((range) => address.match(range));
}
