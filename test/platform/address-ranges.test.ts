import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isPrivateAddress } from '@posthorn/core/platform/http/address-ranges.ts';

/** https://www.iana.org/assignments/iana-ipv4-special-registry, and multicast, which has a registry of its own. */
const IPV4_REGISTRY = `
  0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
  192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
  192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4
  255.255.255.255/32 224.0.0.0/4`;

/** https://www.iana.org/assignments/iana-ipv6-special-registry, and multicast, unassigned and former ranges. */
const IPV6_REGISTRY = `
  ::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128
  2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16
  2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 ff00::/8 fec0::/10 ::/96 ::ffff:0:0:0/96 4000::/3 8000::/2
  c000::/3 e000::/4 f000::/5`;

/** The mapped and the NAT64 ranges are in the registry as well, but as public as the address that they carry. */
const CARRIERS: Record<string, (bytes: number[]) => string> = {
  'mapped, ::ffff:0:0/96': ([a, b, c, d]) => `::ffff:${a}.${b}.${c}.${d}`,
  'NAT64, 64:ff9b::/96': ([a, b, c, d]) => `64:ff9b::${a}.${b}.${c}.${d}`,
};
/** These are never public, whatever they carry. */
const CLOSED_CARRIERS: Record<string, (bytes: number[]) => string> = {
  '6to4, 2002::/16': (bytes) => `2002:${words(bytes)}::1`,
  'Teredo, to a server': (bytes) => `2001:0:${words(bytes)}::`,
  'Teredo, of a client': (bytes) => `2001::${words(bytes.map((byte) => byte ^ 0xff))}`,
  'local NAT64, as /96': (bytes) => `64:ff9b:1::${words(bytes)}`,
  'local NAT64, as /48': ([a, b, c, d]) => `64:ff9b:1:${hex(a!, b!)}:${hex(0, c!)}:${hex(d!, 0)}::`,
  'IPv4-compatible': ([a, b, c, d]) => `::${a}.${b}.${c}.${d}`,
  'IPv4-translated': (bytes) => `::ffff:0:${words(bytes)}`,
};

const PUBLIC_IPV4 = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.0',
  '172.32.0.1',
  '223.255.255.255',
];
const PUBLIC_IPV6 = [
  '2606:4700::1111',
  '2001:4860:4860::8888',
  '2a00:1450::1',
  '2400:cb00::1',
  '2620:4f:7fff::1',
  '2003::1',
];

function hex(high: number, low: number): string {
  return (high * 256 + low).toString(16);
}

function words([a, b, c, d]: number[]): string {
  return `${hex(a!, b!)}:${hex(c!, d!)}`;
}

/** Parsed by hand: the library that the code under test uses must not check itself. */
function bytesOf(address: string): number[] {
  if (!address.includes(':')) return address.split('.').map(Number);
  const [head = '', tail = ''] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = new Array(8 - left.length - right.length).fill('0');
  return [...left, ...zeros, ...right].flatMap((word) => {
    const value = Number.parseInt(word, 16);
    return [value >> 8, value & 0xff];
  });
}

function textOf(bytes: number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  return Array.from({ length: 8 }, (_, at) => hex(bytes[2 * at]!, bytes[2 * at + 1]!)).join(':');
}

/** First, last, and one in between. */
function addressesOf(range: string): string[] {
  const [address = '', bits = ''] = range.split('/');
  const first = bytesOf(address);
  const last = first.map((byte, at) => byte | (0xff >> Math.min(8, Math.max(0, Number(bits) - at * 8))));
  const between = last.map((byte, at) =>
    at === last.length - 1 && Number(bits) < last.length * 8 ? byte & 0xfe : byte,
  );
  return [first, last, between].map(textOf);
}

const ranges = (registry: string) => registry.trim().split(/\s+/);

describe('no address of a special-purpose registry is public', () => {
  for (const range of [...ranges(IPV4_REGISTRY), ...ranges(IPV6_REGISTRY)])
    test(range, () => {
      for (const address of addressesOf(range)) assert.equal(isPrivateAddress(address), true, address);
    });
});

describe('an IPv6 address that carries one of IPv4', () => {
  const special = ranges(IPV4_REGISTRY).flatMap(addressesOf);
  for (const [what, carry] of Object.entries(CARRIERS))
    test(`is as public as that one: ${what}`, () => {
      for (const address of special) assert.equal(isPrivateAddress(carry(bytesOf(address))), true, address);
      for (const address of PUBLIC_IPV4)
        assert.equal(isPrivateAddress(carry(bytesOf(address))), false, address);
    });
  for (const [what, carry] of Object.entries(CLOSED_CARRIERS))
    test(`is never public: ${what}`, () => {
      for (const address of [...special, ...PUBLIC_IPV4])
        assert.equal(isPrivateAddress(carry(bytesOf(address))), true, address);
    });
});

test('an address of the public internet is public', () => {
  for (const address of [...PUBLIC_IPV4, ...PUBLIC_IPV6])
    assert.equal(isPrivateAddress(address), false, address);
});
