import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '@posthorn/core/platform/process/clock.ts';
import type { WhatsAppContext } from '@posthorn/network/whatsapp/session-context.ts';
import { onTimeLock } from '@posthorn/network/whatsapp/time-lock.ts';
import { newNumber, openPaired, outbound } from '../support/whatsapp/driver-harness.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

const WAIT_MS = 30_000;

test('a refused message limits the account when the network says so, until it says that this is over', async (t) => {
  let now = new Date();
  const clock: Clock = { ...systemClock, now: () => now };
  const { network, driver } = await startNetworkAndDriver({ clock });
  t.after(() => network.close());
  const [own, friend] = [network.phone(newNumber()), network.phone(newNumber())];
  const recorded = await openPaired(driver, own);
  t.after(() => recorded.session.close());

  const refuse = async () => {
    network.faults.onMessage = () => ({ error: 463 });
    await assert.rejects(recorded.session.send(outbound(friend.jid, 'text', { text: 'x' })), {
      name: 'SendRefused',
      reason: 'new_chats_limited',
    });
  };
  const timeLock = { isActive: false, timesAsked: 0 };
  network.faults.timeLock = timeLock;
  await refuse();
  await until(() => timeLock.timesAsked === 1, 'the question', WAIT_MS);
  timeLock.isActive = true;
  // The network was asked a moment ago.
  await refuse();
  await delay(100);
  assert.equal(timeLock.timesAsked, 1);
  assert.deepEqual(recorded.restrictions, []);
  now = new Date(now.getTime() + 61_000);
  await refuse();
  await until(() => recorded.restrictions.length === 1, 'the restriction', WAIT_MS);
  timeLock.isActive = false;
  now = new Date(now.getTime() + 61_000);
  await refuse();
  await until(() => recorded.restrictions.length === 2, 'its end', WAIT_MS);
  assert.deepEqual(recorded.restrictions, ['new_chats_limited', null]);
});

test('the network is asked again when a limit should be over, and not before a minute', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = 0;
  const now = new Date();
  const session = {
    deps: { clock: { now: () => now } },
    phase: 'live',
    timeLock: { isActive: false, askedAtMs: 0, asking: null, timer: undefined },
    sink: { restricted() {} },
    connection: {
      socket: {
        async fetchAccountReachoutTimelock() {
          asked += 1;
        },
      },
    },
  } as unknown as WhatsAppContext;
  const lockFor = (ms: number) =>
    onTimeLock(session, { isActive: true, timeEnforcementEnds: new Date(now.getTime() + ms) });
  lockFor(3_600_000);
  t.mock.timers.tick(3_599_999);
  assert.equal(asked, 0);
  t.mock.timers.tick(1);
  assert.equal(asked, 1);
  lockFor(-5_000);
  t.mock.timers.tick(59_999);
  assert.equal(asked, 1);
  t.mock.timers.tick(1);
  assert.equal(asked, 2);
  // Longer than the longest timer.
  lockFor(60 * 24 * 3_600_000);
  t.mock.timers.tick(60_000);
  assert.equal(asked, 2);
  onTimeLock(session, { isActive: false });
  t.mock.timers.tick(60 * 24 * 3_600_000);
  assert.equal(asked, 2);
});
