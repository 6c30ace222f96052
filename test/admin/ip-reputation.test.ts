import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { IpReputation } from '@posthorn/contract/messaging/admin.ts';
import { MINUTE_MS } from '@posthorn/core/platform/durations.ts';
import { nameInZone, readFailure, readListing } from '@posthorn/core/reputation/list-answers.ts';
import { type AccountServer, startAccountServer } from '../accounts/support/account-server.ts';
import { refused } from '../accounts/support/api-client.ts';
import { newOwner, type Person } from '../accounts/support/people.ts';
import { newSuperadmin, ROOT_EMAIL } from '../accounts/support/superadmin.ts';
import { testConfig } from '../support/config.ts';
import { tellFigure } from '../support/figures.ts';
import { type DnsServer, REFUSED, SERVFAIL, startDnsServer } from './dns-server.ts';

test('the name of an address in a list', () => {
  const table: [ip: string, name: string][] = [
    ['192.0.2.99', '99.2.0.192.bl.test'],
    ['127.0.0.2', '2.0.0.127.bl.test'],
    ['2001:db8:1:2:3:4:567:89ab', 'b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.8.b.d.0.1.0.0.2.bl.test'],
    ['::ffff:192.0.2.99', '99.2.0.192.bl.test'],
  ];
  for (const [ip, name] of table) assert.equal(nameInZone(ip, 'bl.test'), name, ip);
});

test('the answers of a list are read by their meaning', () => {
  const said = (addresses: string[]) => readListing(addresses);
  assert.deepEqual(said([]), { listed: false, code: null, reason: null });
  assert.deepEqual(said(['127.0.0.4', '127.0.0.2']), {
    listed: true,
    code: '127.0.0.2, 127.0.0.4',
    reason: null,
  });
  assert.equal(said(['127.255.255.254']).listed, null);
  assert.equal(said(['127.255.255.254']).reason, 'the list refused the question');
  // A resolver that answers every unknown name with an address of its own.
  assert.equal(said(['203.0.113.7']).listed, null);
  for (const code of ['ENOTFOUND', 'ENODATA']) assert.equal(readFailure(code).listed, false);
  for (const code of ['ETIMEOUT', 'ECANCELLED', 'ESERVFAIL', 'EREFUSED', undefined])
    assert.equal(readFailure(code).listed, null);
});

test('wrong settings are refused with the reason', () => {
  const table: [name: string, good: string, bad: string[]][] = [
    ['EGRESS_IPS', ' 192.0.2.1, 2001:db8::1 ,', ['192.0.2', 'example.com', '192.0.2.0/24']],
    [
      'REPUTATION_ZONES',
      'zen.example.org,bl_2.example.net',
      ['bad zone', 'a..b', '.example.org', 'x'.repeat(181)],
    ],
    [
      'REPUTATION_RESOLVER',
      '127.0.0.1,127.0.0.1:5353,::1,[::1]:5353',
      [
        'localhost',
        '127.0.0.1:',
        '127.0.0.1:65536',
        '127.0.0.1:0',
        '[::1]:',
        'dns.example.org:53',
        '[127.0.0.1]:53',
      ],
    ],
  ];
  for (const [name, good, bad] of table) {
    assert.ok(testConfig({ [name]: good }));
    for (const value of bad)
      assert.throws(() => testConfig({ [name]: value }), new RegExp(`^ConfigError: ${name}: `));
  }
});

describe('GET /v1/admin/ip-reputation', () => {
  const OURS = ['192.0.2.10', '2001:db8::10'];
  let dnsServer: DnsServer;
  let server: AccountServer;
  let root: Person;
  before(async () => {
    dnsServer = await startDnsServer();
    dnsServer.list('10.2.0.192.listed.test', { addresses: ['127.0.0.3'], texts: ['seen', ' sending spam'] });
    dnsServer.list('7.113.0.203.listed.test', { addresses: ['127.0.0.2'] });
    dnsServer.list('10.2.0.192.refusing.test', { addresses: ['127.255.255.254'] });
    dnsServer.silence('slow.test');
    dnsServer.fail('broken.test', SERVFAIL);
    dnsServer.fail('closed.test', REFUSED);
    server = await startAccountServer({
      SUPERADMIN_EMAILS: ROOT_EMAIL,
      EGRESS_IPS: OURS.join(', '),
      REPUTATION_ZONES: 'listed.test,clean.test,slow.test,refusing.test,broken.test,closed.test',
      REPUTATION_RESOLVER: dnsServer.address,
    });
    root = await newSuperadmin(server);
  });
  after(async () => {
    await server.close();
    await dnsServer.close();
  });

  const ask = (query = '', on = server, who = root) =>
    on.api('GET', `/v1/admin/ip-reputation${query}`, { jwt: who.jwt });
  const nextMinute = () => server.clock.advance(MINUTE_MS);

  test('200: each of our addresses in each list; a slow or refusing list costs only itself', async () => {
    const startedAtMs = performance.now();
    const answer = await ask();
    tellFigure('a check with a silent list', performance.now() - startedAtMs, { atMost: 6_000 });
    assert.equal(answer.status, 200, answer.text);
    const [v4, v6] = answer.body.results as IpReputation[];
    assert.equal(v4!.ip, OURS[0]);
    assert.deepEqual(v4!.zones, [
      { zone: 'listed.test', listed: true, code: '127.0.0.3', reason: v4!.zones[0]!.reason },
      { zone: 'clean.test', listed: false, code: null, reason: null },
      { zone: 'slow.test', listed: null, code: null, reason: 'no answer in time' },
      {
        zone: 'refusing.test',
        listed: null,
        code: '127.255.255.254',
        reason: 'the list refused the question',
      },
      { zone: 'broken.test', listed: null, code: null, reason: 'the look-up failed' },
      { zone: 'closed.test', listed: null, code: null, reason: 'the look-up failed' },
    ]);
    assert.match(v4!.zones[0]!.reason!, /seen.*sending spam/);
    assert.equal(v6!.ip, OURS[1]);
    assert.deepEqual(
      v6!.zones.map(({ listed }) => listed),
      [false, false, null, null, null, null].map((listed, nth) => (nth === 3 ? false : listed)),
    );
    const inV6 = `0.1.${'0.'.repeat(22)}8.b.d.0.1.0.0.2.listed.test`;
    assert.ok(dnsServer.asked.includes(inV6), inV6);
    nextMinute();
  });

  test('200: another address, whose listing has no text', async () => {
    const answer = await ask('?ip=203.0.113.7');
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.results.length, 1);
    assert.deepEqual(answer.body.results[0].zones[0], {
      zone: 'listed.test',
      listed: true,
      code: '127.0.0.2',
      reason: null,
    });
    nextMinute();
  });

  test('400 for a text that is no address; 403 for a user who is no superadmin', async () => {
    for (const ip of ['', 'localhost', '1.2.3', '1.2.3.4.5', '300.1.1.1', ':::1'])
      refused(await ask(`?ip=${ip}`), 400, 'BAD_REQUEST');
    refused(await ask('', server, await newOwner(server)), 403, 'SUPERADMIN_REQUIRED');
  });

  test('503 REPUTATION_NOT_AVAILABLE: no list answers, or nothing is configured', async () => {
    const { parts, close } = await secondServer({ REPUTATION_ZONES: 'slow.test, refusing.test' });
    refused(await ask('?ip=192.0.2.10', parts), 503, 'REPUTATION_NOT_AVAILABLE');
    await close();
    for (const name of ['REPUTATION_ZONES', 'EGRESS_IPS']) {
      const other = await secondServer({ [name]: '' });
      nextMinute();
      refused(await ask('', other.parts), 503, 'REPUTATION_NOT_AVAILABLE');
      await other.close();
    }
    nextMinute();
  });

  test('503 after five seconds in all, however many servers stay silent', async () => {
    const silent = await Promise.all(Array.from({ length: 4 }, () => startDnsServer()));
    for (const each of silent) each.silence('test');
    // Two tries of two seconds and more at each of them would take 16 seconds.
    const resolvers = silent.map(({ address }) => address).join(',');
    const other = await secondServer({ REPUTATION_RESOLVER: resolvers });
    const startedAtMs = performance.now();
    refused(await ask('', other.parts), 503, 'REPUTATION_NOT_AVAILABLE');
    tellFigure('a check that no server answers', performance.now() - startedAtMs, { atMost: 6_000 });
    assert.ok(silent.some(({ asked }) => asked.length > 0));
    // Not every server got every try, because the check ended before.
    assert.ok(silent.reduce((sum, { asked }) => sum + asked.length, 0) < 2 * silent.length);
    await other.close();
    await Promise.all(silent.map((each) => each.close()));
    nextMinute();
  });

  test('429 REPUTATION_RATE_LIMITED: five a minute of one superadmin, in all processes together', async () => {
    const other = await secondServer({ REPUTATION_ZONES: 'clean.test' });
    for (let n = 0; n < 5; n++) assert.equal((await ask('?ip=192.0.2.10', other.parts)).status, 200);
    for (const on of [server, other.parts]) {
      const answer = await ask('?ip=192.0.2.10', on);
      refused(answer, 429, 'REPUTATION_RATE_LIMITED');
      const wait = Number(answer.headers.get('retry-after'));
      assert.ok(wait >= 1 && wait <= 60, String(wait));
    }
    nextMinute();
    assert.equal((await ask('?ip=192.0.2.10', other.parts)).status, 200);
    await other.close();
  });

  /** Another process on the same database. */
  async function secondServer(env: Record<string, string>) {
    const parts = await startAccountServer(
      {
        SUPERADMIN_EMAILS: ROOT_EMAIL,
        EGRESS_IPS: OURS[0]!,
        REPUTATION_ZONES: 'clean.test',
        REPUTATION_RESOLVER: dnsServer.address,
        ...env,
      },
      { parts: server },
    );
    return { parts, close: () => parts.close() };
  }
});
