import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { pairAll, useWhatsAppSystem } from '../support/whatsapp/paired-system.ts';

const SESSIONS = process.env.POSTHORN_FULL === '1' ? 100 : 12;
const BACK_MS = 30_000;

test(`two workers with ${SESSIONS} sessions of WhatsApp, one killed: the other has them all back, each logged in once at a time`, async (t) => {
  const { network, system, call } = await useWhatsAppSystem(t);
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
  });
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

  // The sessions work: each sends, and the friend can read all of it, once.
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
