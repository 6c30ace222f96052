import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { useSystem } from '../faults/use-system.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import type { System } from '../support/system.ts';
import { ensureWhatsAppLibrary } from '../support/whatsapp/library-install.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import '../support/whatsapp/library-timers.ts';

const SESSIONS = process.env.POSTHORN_FULL === '1' ? 100 : 12;
const PAIRINGS_AT_ONCE = 4;
const BACK_MS = 30_000;

interface Paired {
  id: string;
  phone: PhoneHandle;
}

type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: Json }>;
// biome-ignore lint/suspicious/noExplicitAny: answers of an API under test are looked at field by field
type Json = any;

async function useNetwork(t: TestContext): Promise<{ network: WhatsAppNetwork; system: System }> {
  await ensureWhatsAppLibrary();
  const network = await startWhatsAppNetwork();
  t.after(() => network.close());
  const system = await useSystem(t, {
    workers: 2,
    env: {
      NETWORK_DRIVERS: 'sandbox,whatsapp',
      WHATSAPP_URL: network.url,
      WHATSAPP_TEST_ROOT: network.trustedRoot.toString('base64'),
      NODE_OPTIONS: '--import ./test/support/whatsapp/trust-root.ts',
      PACING_MIN_MS: '0',
    },
  });
  return { network, system };
}

async function callerOf(system: System): Promise<Call> {
  const { apiKey } = await seedCompany(system.db, { requestsPerMinute: 1_000_000 });
  return async (method, path, body) => {
    const answer = await fetch(`${system.urls[0]}/v1/instances${path}`, {
      method,
      headers: {
        'x-api-key': apiKey,
        accept: 'application/json',
        'idempotency-key': randomUUID(),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };
}

async function pair(call: Call, phone: PhoneHandle): Promise<Paired> {
  const created = await call('POST', '', { name: `Number ${phone.number}`, driver: 'whatsapp' });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { id } = created.body;
  await call('PATCH', `/${id}/settings`, { humanize_enabled: false, anti_spam_guard_enabled: false });
  assert.equal((await call('POST', `/${id}/connect`)).status, 202);
  const qr = await waitFor(async () => {
    const shown = await call('GET', `/${id}/qr`);
    return shown.status === 200 && shown.body.qr;
  }, 60_000);
  phone.scan(qr);
  await waitFor(async () => (await call('GET', `/${id}`)).body.state === 'CONNECTED', 60_000);
  await waitFor(() => phone.device.connection !== null && phone.device.logins === 1, 60_000);
  return { id, phone };
}

async function pairAll(call: Call, phones: readonly PhoneHandle[]): Promise<Paired[]> {
  const waiting = [...phones];
  const paired: Paired[] = [];
  const pairNext = async () => {
    for (let phone = waiting.shift(); phone; phone = waiting.shift()) paired.push(await pair(call, phone));
  };
  await Promise.all(Array.from({ length: PAIRINGS_AT_ONCE }, pairNext));
  return paired;
}

test(`two workers with ${SESSIONS} sessions of WhatsApp, one killed: the other has them all back, each logged in once at a time`, async (t) => {
  const { network, system } = await useNetwork(t);
  const call = await callerOf(system);
  const friend = network.phone('5511900000000', 'Friend');
  const numbers = Array.from({ length: SESSIONS }, (_, nth) => `55119111${String(nth).padStart(5, '0')}`);
  const paired = await pairAll(
    call,
    numbers.map((number) => network.phone(number)),
  );
  const devices = paired.map(({ phone }) => phone.device);

  await system.workers[0]!.kill();
  const killedAt = performance.now();
  // The kernel ends the connections of a killed process at once.
  const lost = await waitFor(() => {
    const without = devices.filter((device) => device.connection === null);
    return without.length > 0 && without;
  }, 10_000);
  await waitFor(() => devices.every((device) => device.connection !== null), 60_000, {
    what: 'every session is back',
  });
  t.diagnostic(`${lost.length} of ${SESSIONS} sessions were those of the killed worker`);
  tellFigure('all sessions of a killed worker are back after', performance.now() - killedAt, {
    atMost: BACK_MS,
  });
  assert.deepEqual(
    devices.filter(({ doubleLogins }) => doubleLogins > 0).map(({ number }) => number),
    [],
    'nobody was logged in twice',
  );
  for (const device of devices) assert.ok(device.logins <= 2, `${device.number}: ${device.logins} logins`);

  // They work: each sends, and the friend can read all of it, once.
  const sent = await Promise.all(
    paired.map(async ({ id, phone }) => {
      const { status, body } = await call('POST', `/${id}/messages/text`, {
        to: friend.number,
        text: `from ${phone.number}`,
      });
      assert.equal(status, 202, JSON.stringify(body));
      return { text: `from ${phone.number}`, wireId: body.message_id.replaceAll('-', '').toUpperCase() };
    }),
  );
  for (const { text, wireId } of sent) {
    const shown = await friend.message(wireId);
    assert.equal(shown.wire.conversation, text);
  }
  assert.deepEqual(
    network.ledger.filter(({ timesSeen }) => timesSeen > 1).map(({ id }) => id),
    [],
  );
  assert.deepEqual(friend.phone.failures, []);
});
