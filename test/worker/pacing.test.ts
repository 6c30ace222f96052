import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type NetworkSession, NotConnected } from '@posthorn/core/network/driver.ts';
import { readSettings } from '@posthorn/standalone/src/settings.ts';
import { createPacer, pauseMs } from '@posthorn/worker/dispatch/pacing.ts';
import { typingMs } from '@posthorn/worker/dispatch/send-task.ts';
import { pacingMinMsOf, typingMaxMsOf } from '@posthorn/worker/network-driver.ts';
import { waitFor } from '../support/process.ts';
import { startSending, type TestInstance } from '../support/sending.ts';
import { createTestClock } from '../support/test-clock.ts';
import { startQueue, taskOf } from './table-queue.ts';

/** Timers may fire a millisecond early. */
const EARLY_MS = 2;

test('the pause before a send', () => {
  const table: [lastAtMs: number, nowMs: number, minMs: number, random: number, expected: number][] = [
    [0, 0, 0, 0.99, 0],
    [1_000, 1_000, 1_000, 0, 1_000],
    [1_000, 1_000, 1_000, 0.5, 1_250],
    [1_000, 1_000, 1_000, 0.999, 1_499.5],
    [1_000, 1_400, 1_000, 0, 600],
    [1_000, 2_000, 1_000, 0, 0],
    [1_000, 2_000, 1_000, 0.5, 250],
    [1_000, 90_000, 1_000, 0.999, 0],
    // A clock that was set back.
    [90_000, 1_000, 1_000, 0, 1_000],
  ];
  for (const [lastAtMs, nowMs, minMs, random, expected] of table)
    assert.equal(pauseMs({ lastAtMs, nowMs, minMs, random }), expected, `${lastAtMs} ${nowMs} ${random}`);
});

test('a new owner waits as if a send had just been made, and each send begins a new pause', async () => {
  const clock = createTestClock();
  const pacer = createPacer({ clock, random: () => 0.5 }, 1_000);
  const { signal } = new AbortController();
  let went = 0;
  const go = () => pacer.turn(signal).then(() => (went += 1));
  const first = go();
  clock.advance(1_249);
  await new Promise(setImmediate);
  assert.equal(went, 0);
  clock.advance(1);
  await first;
  // Without a send in between no distance has to be kept.
  await go();
  pacer.sent();
  const third = go();
  await new Promise(setImmediate);
  assert.equal(went, 2);
  clock.advance(1_250);
  await third;
});

test('typing takes 0.1 to 0.5 seconds a character, and no longer than the installation lets it', () => {
  const unbounded = Number.POSITIVE_INFINITY;
  const table: [text: string, random: number, maxMs: number, ms: number][] = [
    ['', 0.5, unbounded, 0],
    ['hello', 0, unbounded, 500],
    ['hello', 0.5, unbounded, 1_500],
    ['hello', 0.999999, unbounded, 2_500],
    ['👍👍', 0, unbounded, 200],
    ['x'.repeat(4_096), 0, unbounded, 409_600],
    ['x'.repeat(4_096), 0, 10_000, 10_000],
    ['hello', 0, 10_000, 500],
  ];
  for (const [text, random, maxMs, ms] of table)
    assert.equal(Math.round(typingMs(text, random, maxMs)), ms, text);
});

test('a text whose connection was lost while it was typed is not typed again', async (t) => {
  const { queue, table, session, sent } = await startQueue(t, { typingMaxMs: 60_000 });
  const typing = Promise.withResolvers<void>();
  let typed = 0;
  const counted = async () => {
    typed += 1;
    typing.resolve();
  };
  const lost = {
    ...session,
    typing: counted,
    send: () => Promise.reject(new NotConnected()),
  } as NetworkSession;
  queue.attach(lost);
  const { settings, ...task } = taskOf(1);
  table.set(1, { ...task, settings: { ...settings, humanize_enabled: true } });
  queue.wake();
  await typing.promise;
  queue.attach({ ...session, typing: counted });
  await waitFor(() => table.size === 0, 30_000);
  assert.deepEqual([sent, typed], [[1], 1]);
});

test('HUMANIZE_MAX_SECONDS is in seconds, and unset it sets no limit', () => {
  const table: [seconds: number | undefined, ms: number][] = [
    [undefined, Number.POSITIVE_INFINITY],
    [0, 0],
    [2.5, 2_500],
  ];
  for (const [seconds, ms] of table) assert.equal(typingMaxMsOf({ HUMANIZE_MAX_SECONDS: seconds }), ms);
});

test('npm start sets it to 10 where all networks are simulated, and no other value', () => {
  const table: [env: Record<string, string>, seconds: number | undefined][] = [
    [{}, 10],
    [{ NETWORK_DRIVERS: 'sandbox,' }, 10],
    [{ HUMANIZE_MAX_SECONDS: '0' }, 0],
    [{ HUMANIZE_MAX_SECONDS: '90' }, 90],
    [{ NETWORK_DRIVERS: 'whatsapp' }, undefined],
    [{ NETWORK_DRIVERS: 'sandbox,whatsapp' }, undefined],
  ];
  for (const [env, seconds] of table)
    assert.equal(readSettings(env).config.HUMANIZE_MAX_SECONDS, seconds, JSON.stringify(env));
});

test('the setting decides, and else the network', () => {
  assert.equal(pacingMinMsOf({ PACING_MIN_MS: undefined }, 'sandbox'), 0);
  assert.equal(pacingMinMsOf({ PACING_MIN_MS: undefined }, 'whatsapp'), 1_000);
  assert.equal(pacingMinMsOf({ PACING_MIN_MS: undefined }, 'whatsapp-cloud'), 0);
  assert.equal(pacingMinMsOf({ PACING_MIN_MS: 700 }, 'sandbox'), 700);
  assert.equal(pacingMinMsOf({ PACING_MIN_MS: 700 }, 'whatsapp'), 700);
});

describe('sends of an instance with pacing', () => {
  const MIN_MS = 250;

  test('lie apart, status posts and edits included, in order, and other instances wait for none of it', async () => {
    const sending = await startSending({ worker: { pacingMinMs: () => MIN_MS } });
    try {
      const [one, other] = [await sending.connect(), await sending.connect()];
      const to = sending.newPhone();
      const first = await sending.send(one, '/messages/text', { to, text: 'nth 0' });
      await sending.send(one, '/messages/status/text', { text: 'a status' });
      for (let n = 1; n < 4; n++) await sending.send(one, '/messages/text', { to, text: `nth ${n}` });
      await sending.send(one, '/messages/location', { to, latitude: 1, longitude: 2 });
      await sending.send(other, '/messages/text', { to, text: 'of another instance' });
      await sending.event(one, 'message.sent', (data) => data.message_ids[0] === first.message_id);
      const edit = await sending.call(one, 'PUT', `/messages/${first.message_id}/edit`, {
        content: 'better',
      });
      assert.equal(edit.status, 202, edit.text);
      const entries = await waitFor(async () => {
        const found = await ledgerOf(one);
        return found.length === 7 && found;
      }, 60_000);
      assert.equal(entries.filter((entry) => entry.times_seen !== 1).length, 0);
      const times = entries.map((entry) => Date.parse(entry.time));
      for (let n = 1; n < times.length; n++)
        assert.ok(times[n]! - times[n - 1]! >= MIN_MS - EARLY_MS, `${n}: ${times[n]! - times[n - 1]!} ms`);
      assert.equal((await ledgerOf(other)).length, 1);
    } finally {
      await sending.close();
    }

    async function ledgerOf(
      instance: TestInstance,
    ): Promise<{ network_id: string; times_seen: number; time: string }[]> {
      return (await sending.sandbox.get(`/ledger?from=${instance.phone}&limit=1000`)).entries;
    }
  });
});
