import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { type ClientVersion, createClientVersions } from '@posthorn/network/whatsapp/client-version.ts';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';
import { listen } from '../support/listen.ts';
import { endOf, newKept, newNumber, openPaired, openRecorded } from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { newDriver, startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';

const MINUTE_MS = 60_000;
const page = (revision: number | string) =>
  `self.x=1;JSON.parse('{\\"client_revision\\": ${revision},"y":2}')`;

describe('a network that wants a newer version than the library has', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: ClientVersion;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    own = (await loadLibrary()).DEFAULT_CONNECTION_CONFIG.version;
  });
  after(async () => {
    await network.close();
    assert.deepEqual(network.problems, []);
  });

  it('refuses sessions while it does not say which, and takes the first that knows it', async () => {
    const newest = own[2] + 1_000;
    network.faults.oldestVersion = [own[0], own[1], newest];
    const kept = newKept();
    const first = await openRecorded(driver, kept);
    assert.equal(await endOf(first), 'version_refused');
    // Its page was read a moment ago.
    network.faults.page = page(newest);
    const second = await openRecorded(driver, kept);
    assert.equal(await endOf(second), 'version_refused');

    const restarted = newDriver(network);
    const third = await openRecorded(restarted, kept);
    assert.equal(await endOf(third), 'connection_lost');
    const fourth = await openPaired(restarted, network.phone(newNumber()), kept);
    await fourth.session.close();
  });
});

describe('the newest version', () => {
  const OWN = [2, 3000, 100] as const;
  let answer = { status: 200, body: '' };
  let asked = 0;
  let nowMs = 0;
  const warnings: object[] = [];
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(answer.status).end(answer.body);
  });
  let url = '';
  before(async () => {
    url = `ws://127.0.0.1:${await listen(server)}/ws/chat`;
  });
  after(() => void server.close());

  function versions() {
    asked = 0;
    return createClientVersions({
      url,
      log: { warn: (about: object) => void warnings.push(about) },
      nowMs: () => nowMs,
    });
  }

  it('is read once by however many sessions, and stays', async () => {
    answer = { status: 200, body: page(150) };
    const known = versions();
    assert.deepEqual(known.newest(OWN), OWN);
    const renewed = await Promise.all(Array.from({ length: 20 }, () => known.renew(OWN, undefined)));
    assert.deepEqual([...new Set(renewed)], [true]);
    assert.equal(asked, 1);
    assert.deepEqual(known.newest(OWN), [2, 3000, 150]);
    assert.deepEqual(known.newest([2, 3000, 200]), [2, 3000, 200]);
    // A session that was opened before.
    assert.equal(await known.renew(OWN, undefined), true);
    assert.equal(asked, 1);
  });

  it('is read again after ten minutes when the network refuses that one too', async () => {
    answer = { status: 200, body: page(150) };
    const known = versions();
    await known.renew(OWN, undefined);
    answer.body = page(160);
    assert.equal(await known.renew([2, 3000, 150], undefined), false);
    nowMs += 10 * MINUTE_MS;
    assert.equal(await known.renew([2, 3000, 150], undefined), true);
    assert.deepEqual(known.newest(OWN), [2, 3000, 160]);
    assert.equal(asked, 2);
  });

  for (const [what, status, body] of [
    ['is away', 503, page(150)],
    ['moves', 302, page(150)],
    ['names no version', 200, 'self.x = 1'],
    ['names the same', 200, page(100)],
    ['names an older one', 200, page(99)],
    ['names nonsense', 200, page('1'.repeat(400))],
    ['is endless', 200, `${'x'.repeat(5 * 1024 * 1024)}${page(150)}`],
  ] as const)
    it(`stays as it is when the page ${what}`, async () => {
      answer = { status, body };
      const known = versions();
      assert.equal(await known.renew(OWN, undefined), false);
      assert.deepEqual(known.newest(OWN), OWN);
      assert.equal(asked, 1);
    });

  it('is what the page names although a later one was refused', async () => {
    answer = { status: 200, body: page(999_999_999) };
    const known = versions();
    assert.equal(await known.renew(OWN, undefined), true);
    nowMs += 10 * MINUTE_MS;
    answer.body = page(150);
    assert.equal(await known.renew(known.newest(OWN), undefined), false);
    assert.deepEqual(known.newest(OWN), [2, 3000, 150]);
  });

  it('stays as it is when nobody listens', async () => {
    const known = createClientVersions({ url: 'ws://127.0.0.1:1/ws', log: { warn() {} }, nowMs: () => 0 });
    assert.equal(await known.renew(OWN, undefined), false);
  });
});
