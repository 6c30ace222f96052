import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, loadConfig } from '@posthorn/core/platform/config.ts';
import {
  addressGroup,
  createAddressReader,
  isLocal,
  parseAddressRange,
} from '@posthorn/core/platform/http/client-address.ts';

function request(peer: string | undefined, forwarded?: string) {
  return {
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  } as never;
}

const read = createAddressReader(['10.0.0.0/8', '192.0.2.7', 'fd00::/8'].map(parseAddressRange));

describe('the address of a client', () => {
  const table: [what: string, peer: string | undefined, forwarded: string | undefined, wanted: string][] = [
    ['without a proxy is that of the connection', '203.0.113.9', undefined, '203.0.113.9'],
    ['is not the client’s own word', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['is what a trusted proxy says', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['is the rightmost that is not trusted', '10.1.2.3', '1.1.1.1, 198.51.100.1, 192.0.2.7', '198.51.100.1'],
    ['is the leftmost where all are trusted', '10.1.2.3', '10.9.9.9, 10.8.8.8', '10.9.9.9'],
    ['is the last good one before what is no address', '10.1.2.3', 'unknown, 10.8.8.8', '10.8.8.8'],
    ['is read with a port', '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['is read in brackets', '10.1.2.3', '[2001:db8::1]:4711', '2001:db8::1'],
    ['is IPv4 where it came as IPv6', '::ffff:10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
    ['of IPv6 proxies counts too', 'fd00::1', '2001:db8::1', '2001:db8::1'],
    ['is that of the proxy when the header is empty', '10.1.2.3', '', '10.1.2.3'],
    ['is unknown without a connection', undefined, '198.51.100.1', 'unknown'],
  ];
  for (const [what, peer, forwarded, wanted] of table)
    it(what, () => assert.equal(read(request(peer, forwarded)), wanted));

  it('is taken from no header while no proxy is trusted', () => {
    assert.equal(createAddressReader([])(request('10.1.2.3', '198.51.100.1')), '10.1.2.3');
  });

  it('is looked for through 20 hops at most, however long the header is', () => {
    const hops = Array.from({ length: 1_500 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    assert.equal(read(request('10.1.2.3', hops.join(', '))), hops.at(-20));
  });
});

describe('the key under which a client is counted', () => {
  it('is the address in IPv4 and the /64 in IPv6', () => {
    assert.equal(addressGroup('203.0.113.9'), '203.0.113.9');
    assert.equal(addressGroup('2001:db8:1:2:aaaa::1'), '2001:db8:1:2::/64');
    assert.equal(addressGroup('2001:db8:1:2:bbbb::9'), addressGroup('2001:db8:1:2:aaaa::1'));
    assert.notEqual(addressGroup('2001:db8:1:3::1'), addressGroup('2001:db8:1:2::1'));
    assert.equal(addressGroup('unknown'), 'unknown');
  });
});

describe('a request from this machine', () => {
  it('comes over loopback and through no proxy', () => {
    assert.equal(isLocal(request('127.0.0.1')), true);
    assert.equal(isLocal(request('::1')), true);
    assert.equal(isLocal(request('::ffff:127.0.0.1')), true);
    assert.equal(isLocal(request('127.0.0.1', '198.51.100.1')), false);
    assert.equal(isLocal(request('10.0.0.1')), false);
    assert.equal(isLocal(request(undefined)), false);
  });
});

describe('TRUSTED_PROXIES', () => {
  const base = {
    DATABASE_URL: 'postgres://127.0.0.1/x',
    AMQP_URL: 'amqp://127.0.0.1',
    JWT_SECRET: 'x'.repeat(32),
    ENCRYPTION_KEY: '5a'.repeat(32),
  };
  it('takes addresses and ranges', () => {
    const { TRUSTED_PROXIES } = loadConfig({ ...base, TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,fd00::/8' });
    assert.equal(TRUSTED_PROXIES.length, 3);
    assert.deepEqual(loadConfig(base).TRUSTED_PROXIES, []);
  });
  it('stops the start with one line when an entry is no address', () => {
    for (const wrong of ['10.0.0.0/33', 'proxy.internal', '10.0.0.0/8,x', '10', '10.0/8', '0x0a000001'])
      assert.throws(() => loadConfig({ ...base, TRUSTED_PROXIES: wrong }), ConfigError);
  });
});
