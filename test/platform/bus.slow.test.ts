import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, type BusChannel, createBus } from '@posthorn/core/platform/broker/bus.ts';
import pg from 'pg';
import { openBreakableLink } from '../support/breakable-link.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
// The tests do not use the parts' own bus, because the others here would hear it.
after(() => parts.close());

interface Heard {
  channel: string;
  payload: string;
}

/** The notifications of the database, received by a connection that sends none itself. */
async function listenIn(
  t: { after(fn: () => unknown): void },
  channels: readonly string[],
): Promise<Heard[]> {
  const client = new pg.Client({ connectionString: parts.url });
  await client.connect();
  t.after(() => client.end());
  const heard: Heard[] = [];
  client.on('notification', ({ channel, payload = '' }) => heard.push({ channel, payload }));
  for (const channel of channels) await client.query(`LISTEN ${channel}`);
  return heard;
}

async function openBus(
  t: { after(fn: () => unknown): void },
  hello?: { everyMs: number; aloneAfterMs: number },
): Promise<Bus> {
  const { url, log } = parts;
  const bus = await createBus({ url, log, name: 'bus test', ...(hello && { hello }) });
  t.after(() => bus.close());
  return bus;
}

/** The payloads that the handlers of a channel get. */
function heardBy(bus: Bus, channel: BusChannel): string[] {
  const payloads: string[] = [];
  bus.on(channel, (payload) => payloads.push(payload));
  return payloads;
}

const NEVER_ALONE = { everyMs: 100, aloneAfterMs: 600_000 };
/** Such a bus counts itself as alone at once, when no other bus has sent anything. */
const ALONE = { everyMs: 600_000, aloneAfterMs: 0 };

test('two processes get the notifications of each other, and each its own at once and once', async (t) => {
  const [one, other] = [await openBus(t, NEVER_ALONE), await openBus(t, NEVER_ALONE)];
  const [here, there] = [heardBy(one, 'events'), heardBy(other, 'events')];
  // Waits until it listens.
  await waitFor(() => {
    one.notify('events', 'first');
    return there.length > 0;
  });
  one.notify('events', 'second');
  one.notify('events', 'last');
  await waitFor(() => there.includes('last'));
  for (const payloads of [here, there])
    assert.deepEqual(
      payloads.filter((payload) => payload !== 'first'),
      ['second', 'last'],
    );
});

test('a process that is alone keeps hints to itself, and sends other notifications', async (t) => {
  const told = await listenIn(t, ['events', 'deliveries', 'auth']);
  const bus = await openBus(t, ALONE);
  const [events, deliveries] = [heardBy(bus, 'events'), heardBy(bus, 'deliveries')];
  bus.hint('events', '7');
  bus.hint('deliveries');
  bus.notify('deliveries', 'webhook:3');
  bus.hint('deliveries', 'webhook:3');
  bus.notify('auth', 'user:3');
  await waitFor(() => told.length >= 2);
  assert.deepEqual(
    told.map(({ channel, payload }) => `${channel} ${payload}`).sort(),
    ['auth user:3', 'deliveries webhook:3'],
    'sent in one statement: what is missing never comes',
  );
  assert.deepEqual([events, deliveries], [['7'], ['', 'webhook:3']], 'its own handlers hear all of it');
});

test('a process that starts later is heard at once, and gets everything from then on', async (t) => {
  const first = await openBus(t, { everyMs: 600_000, aloneAfterMs: 1_000 });
  const told = await listenIn(t, ['events']);
  let sent = 0;
  const tell = () => {
    sent += 1;
    first.hint('events', String(sent));
  };
  // It is alone by now, so a notification stays inside the process.
  await waitFor(
    async () => {
      const before = told.length;
      tell();
      await new Promise((resolve) => setTimeout(resolve, 200));
      return told.length === before;
    },
    30_000,
    { what: 'it takes itself for alone' },
  );
  const second = await openBus(t, NEVER_ALONE);
  const there = heardBy(second, 'events');
  await waitFor(() => {
    tell();
    return there.length > 0;
  });
});

/** A bus on a way that can be cut without either side noticing, as when a primary freezes and a standby takes over. */
async function openBusOnLink(t: { after(fn: () => unknown): void }) {
  const url = new URL(parts.url);
  const link = await openBreakableLink({ host: url.hostname, port: Number(url.port) });
  t.after(() => link.close());
  url.port = String(link.port);
  const bus = await createBus({ url: url.href, log: parts.log, name: 'bus test', hello: NEVER_ALONE });
  return { bus, link };
}

test('a bus whose server answers no more says so within seconds, and hears again from the next one', async (t) => {
  const { bus, link } = await openBusOnLink(t);
  t.after(() => bus.close());
  const resets: boolean[] = [];
  bus.onReset((up) => resets.push(up));
  const heard = heardBy(bus, 'events');
  link.cut();
  await waitFor(() => !bus.isUp(), 10_000);
  link.heal('lost');
  await waitFor(() => bus.isUp(), 15_000);
  assert.deepEqual(resets, [false, true]);
  const other = await openBus(t, NEVER_ALONE);
  await waitFor(() => {
    other.notify('events', 'after');
    return heard.includes('after');
  });
});

test('a bus whose server answers no more closes within seconds', async (t) => {
  const { bus, link } = await openBusOnLink(t);
  link.cut();
  bus.notify('events', 'unheard');
  const closed = bus.close().then(() => true);
  t.after(() => link.heal('lost'));
  assert.equal(await Promise.race([closed, delay(10_000, false)]), true);
});
