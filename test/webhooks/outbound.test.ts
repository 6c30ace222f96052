import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { isPrivateAddress } from '@posthorn/core/platform/http/address-ranges.ts';
import { createOutbound, faultOf } from '@posthorn/core/platform/http/outbound-http.ts';
import { listen } from '../support/listen.ts';

const PRIVATE = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '::127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a00:1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  // 6to4 no longer leads to the public internet.
  '2002:808:808::1',
  '2001::1',
  '2001:db8::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '100::1',
  'not an address',
  '',
];
const PUBLIC = [
  '1.1.1.1',
  '93.184.216.34',
  '172.32.0.1',
  '192.167.255.255',
  '2606:4700::1111',
  '64:ff9b::808:808',
];

test('no form of a private address passes for a public one', () => {
  for (const address of PRIVATE) assert.equal(isPrivateAddress(address), true, address);
  for (const address of PUBLIC) assert.equal(isPrivateAddress(address), false, address);
});

test('a URL is refused by its scheme, port, literal address or an address that its name resolves to', async () => {
  const outbound = createOutbound({
    allowPrivate: false,
    resolver: async (name) => {
      if (name === 'gone.example') throw Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' });
      return { 'public.example': ['93.184.216.34'], 'mixed.example': ['93.184.216.34', '::1'] }[name] ?? [];
    },
  });
  for (const [url, fault] of [
    ['https://public.example/', undefined],
    ['http://public.example:8080/', undefined],
    ['https://public.example:8443/', undefined],
    ['https://1.1.1.1/', undefined],
    ['https://[2606:4700::1111]/', undefined],
    ['https://public.example:22/', 'blocked'],
    ['ftp://public.example/', 'blocked'],
    ['https://mixed.example/', 'blocked'],
    ['https://localhost/', 'blocked'],
    ['https://a.localhost./', 'blocked'],
    ['http://0x7f.1/', 'blocked'],
    ['http://0177.0.0.1/', 'blocked'],
    ['http://[::ffff:7f00:1]/', 'blocked'],
    ['http://[64:ff9b::7f00:1]/', 'blocked'],
    ['https://gone.example/', 'dns'],
    ['https://empty.example/', 'dns'],
  ] as const)
    assert.equal((await outbound.judge(new URL(url)))?.fault, fault, url);
  await outbound.close();
});

test('a name is resolved once: a second, private answer is never asked for', async () => {
  let hits = 0;
  const inside = createServer((_req, res) => {
    hits += 1;
    res.end();
  });
  const port = await listen(inside);
  let lookups = 0;
  // The rebinding attack: public when it is checked, private when it is connected to.
  const resolver = async () => {
    lookups += 1;
    return lookups === 1 ? ['203.0.113.1'] : ['127.0.0.1'];
  };
  const rebinding = createOutbound({ allowPrivate: false, resolver, connectTimeoutMs: 300 });
  const url = new URL('http://rebinding.example:8080/');
  assert.equal((await rebinding.judge(url))?.fault, 'blocked', 'a documentation address is not public');
  const attempt = rebinding.to(url).request({ method: 'POST', path: '/' });
  await assert.rejects(attempt, (err) => faultOf(err) === 'blocked');
  await rebinding.close();
  const open = createOutbound({ allowPrivate: true, resolver: async () => ['127.0.0.1'] });
  const answer = await open
    .to(new URL(`http://inside.example:${port}/`))
    .request({ method: 'GET', path: '/' });
  await answer.body.dump();
  assert.equal(hits, 1, 'the address that the resolver gave is the one connected to');
  await open.close();
  inside.close();
});
