import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { NewEvent } from '@posthorn/core/events/insert-events.ts';
import { type TellEvents, tellEvents } from '@posthorn/core/events/tell-events.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import { createTestClock, systemClock } from '@posthorn/core/platform/clock.ts';
import type { Transaction } from '@posthorn/core/platform/db.ts';
import { createOutbound, type Outbound } from '@posthorn/core/platform/outbound-http.ts';
import { releaseWritten } from '@posthorn/core/webhooks/delivery/claim-deliveries.ts';
import { webhookNotification } from '@posthorn/core/webhooks/delivery/notifications.ts';
import type { WebhookDispatcherDeps } from '@posthorn/worker/webhooks/dispatcher-context.ts';
import { newEvent } from '../events/support.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import {
  emitEvents,
  logsOf,
  pendingOf,
  type Receiver,
  type SeededWebhook,
  seedWebhook,
  startDispatcher,
  startReceiver,
  type TestDispatcher,
} from './support.ts';

const SOON_MS = 30_000;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/**
 * A dispatcher whose endpoint has answered before, and that hears of new events through `direct` alone. Its clock stands
 * still, so that it does not look at everything by itself.
 */
interface Warm {
  dispatcher: TestDispatcher;
  receiver: Receiver;
  webhook: SeededWebhook;
  /** Event ids in the order in which their attempts began. */
  begun: string[];
  event(more?: Partial<NewEvent>): NewEvent;
  /** Writes events as a recorder does; `meanwhile` runs after they are written and before they are committed. */
  tell(events: NewEvent[], meanwhile?: (client: Transaction) => Promise<unknown>): Promise<void>;
  commit(work: (client: Transaction, tell: TellEvents) => Promise<unknown>): Promise<void>;
  /** What was announced of deliveries. */
  notified: string[];
}

async function startWarm(
  t: { after(done: () => unknown): void },
  more: Partial<WebhookDispatcherDeps> & { answer?: Parameters<typeof startReceiver>[0] } = {},
): Promise<Warm> {
  const { answer, ...deps } = { clock: createTestClock(new Date()), ...more };
  const begun: string[] = [];
  const notified: string[] = [];
  const outbound = createOutbound({ allowPrivate: true, connectionsPerOrigin: 64 });
  const dispatcher = await startDispatcher(parts, { outbound: watched(outbound, begun), ...deps });
  t.after(() => outbound.close());
  t.after(dispatcher.close);
  const { companyId } = await seedCompany(parts.db);
  const receiver = await startReceiver(answer);
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url, { patterns: ['message.*'] });
  const { clock } = deps;
  const event = (and: Partial<NewEvent> = {}) => newEvent(companyId, { createdAt: clock.now(), ...and });
  await emitEvents(parts, companyId, 1, { createdAt: clock.now() });
  await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 1, SOON_MS);
  await waitFor(() => offersRoom(dispatcher, event(), webhook), SOON_MS, { what: 'nothing is under way' });
  begun.splice(0);
  receiver.received.splice(0);
  const bus = { notify: (channel: string) => void notified.push(channel) } as unknown as Bus;
  const commit: Warm['commit'] = (work) =>
    tellEvents({ bus, deliveries: dispatcher.direct }, async (tell) => {
      await parts.db.transaction((client) => work(client, tell));
    });
  return {
    dispatcher,
    receiver,
    webhook,
    begun,
    event,
    notified,
    commit,
    tell: (events, meanwhile) =>
      commit(async (client, tell) => {
        await tell(client, events);
        await meanwhile?.(client);
      }),
  };
}

function offersRoom({ direct }: TestDispatcher, event: NewEvent, { id }: SeededWebhook): boolean {
  const offer = direct.offer([event]);
  offer?.take({ claimed: [], unclaimed: [] });
  return offer?.webhookIds.includes(id) ?? false;
}

/** Notes which events are sent, in the order of the attempts and not of their arrival. */
function watched(outbound: Outbound, begun: string[]): Outbound {
  return {
    ...outbound,
    to(url) {
      const dispatcher = outbound.to(url);
      return new Proxy(dispatcher, {
        get(target, name) {
          if (name !== 'dispatch') return Reflect.get(target, name);
          return (options: { body: Buffer }, handler: never) => {
            begun.push(JSON.parse(String(options.body)).event_id);
            return target.dispatch(options as never, handler);
          };
        },
      });
    },
  };
}

const idsOf = (events: readonly NewEvent[]) => events.map(({ eventId }) => eventId);

describe('deliveries of events that the process of their dispatcher writes', () => {
  test('are made though nobody was notified, with the bytes that a retry sends', async (t) => {
    let status = 500;
    const warm = await startWarm(t, { answer: (_req, res) => res.writeHead(status).end() });
    const event = warm.event({
      type: 'message.sent',
      data: { zeta: 'ü😀"\\\n', a: { b: [1, 2.5, null], aa: true }, n: 1e21 },
    });
    await warm.tell([event]);
    await waitFor(() => warm.receiver.requests === 2, SOON_MS);
    assert.ok(!warm.notified.includes('deliveries'), 'nobody else has to look');
    assert.ok(warm.notified.includes('events'), 'the streams do');
    await waitFor(async () => (await logsOf(parts.db, warm.webhook.id)).length === 2, SOON_MS);
    status = 200;
    await parts.db.query('UPDATE webhook_deliveries SET next_attempt_at = created_at WHERE webhook_id = $1', [
      warm.webhook.id,
    ]);
    parts.bus.notify('deliveries', 'retries');
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    const bodies = warm.receiver.received
      .filter(({ headers }) => headers['webhook-id'] === event.eventId)
      .map(({ body }) => body);
    assert.equal(bodies.length, 2);
    assert.equal(bodies[0], bodies[1]);
    assert.deepEqual(JSON.parse(bodies[0]!).data, event.data);
  });

  test('are of the webhooks alone that want them: enabled ones, of the instance, of the company', async (t) => {
    const warm = await startWarm(t);
    const other = await seedCompany(parts.db);
    const { companyId } = warm.webhook;
    const { url } = warm.receiver;
    const instanceId = await seedInstance(parts.db, companyId);
    const unwanted = await Promise.all([
      seedWebhook(parts.db, companyId, `${url}/off`, { enabled: false }),
      seedWebhook(parts.db, companyId, `${url}/instance`, { instanceId }),
      seedWebhook(parts.db, companyId, `${url}/pattern`, { patterns: ['group.*'] }),
      seedWebhook(parts.db, other.companyId, `${url}/other`),
    ]);
    await warm.tell([warm.event({ instanceId: await seedInstance(parts.db, companyId) })]);
    await waitFor(() => warm.receiver.received.length === 1, SOON_MS);
    for (const { id } of unwanted) assert.equal(await pendingOf(parts.db, id), 0);
    assert.equal(warm.receiver.received[0]?.path, '/');
  });

  test('of a suspended company wait until it is active again', async (t) => {
    const warm = await startWarm(t, { clock: systemClock });
    const setStatus = (status: string) =>
      parts.db.query('UPDATE companies SET status = $2 WHERE id = $1', [warm.webhook.companyId, status]);
    await setStatus('suspended');
    const event = warm.event();
    await warm.tell([event]);
    const { rows } = await parts.db.query(
      'SELECT leased_until FROM webhook_deliveries WHERE webhook_id = $1',
      [warm.webhook.id],
    );
    assert.deepEqual(rows, [{ leased_until: null }]);
    assert.deepEqual(warm.begun, []);
    await setStatus('active');
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('go to the new address of a webhook that is changed before or while they are written', async (t) => {
    const warm = await startWarm(t, { clock: systemClock });
    const moved = await startReceiver();
    t.after(moved.close);
    const moveTo = (path: string) =>
      parts.db.query('UPDATE webhooks SET url = $2 WHERE id = $1', [warm.webhook.id, `${moved.url}${path}`]);
    const heard = Promise.withResolvers<void>();
    parts.bus.on('deliveries', (payload) => {
      if (payload === webhookNotification(warm.webhook.id)) heard.resolve();
    });
    await moveTo('/before');
    const first = warm.event();
    await warm.tell([first]);
    await waitFor(() => moved.requests === 1, SOON_MS);
    const second = warm.event();
    await warm.tell([second], async (client) => {
      await client.query('SELECT 1');
      await moveTo('/while');
      parts.bus.notify('deliveries', webhookNotification(warm.webhook.id));
      await heard.promise;
    });
    await waitFor(() => moved.requests === 2, SOON_MS);
    assert.deepEqual(
      moved.received.map(({ path, headers }) => [path, headers['webhook-id']]),
      [
        ['/before', first.eventId],
        ['/while', second.eventId],
      ],
    );
    assert.equal(warm.receiver.received.length, 0);
  });

  test('keep their order while the configuration of a changed webhook is read', async (t) => {
    const slow = Promise.withResolvers<void>();
    let reads = 0;
    const db = {
      ...parts.db,
      query: async (query: { name?: string }, values?: unknown[]) => {
        const result = await parts.db.query(query as never, values);
        if (query.name === 'webhooks-for-delivery' && ++reads === 2) await slow.promise;
        return result;
      },
    } as typeof parts.db;
    const warm = await startWarm(t, { db });
    await parts.db.query('UPDATE webhooks SET url = url WHERE id = $1', [warm.webhook.id]);
    const gate = Promise.withResolvers<void>();
    const [first, second] = [warm.event(), warm.event()];
    const later = warm.tell([second], () => gate.promise);
    await warm.tell([first]);
    gate.resolve();
    await later;
    await new Promise((resolve) => setTimeout(resolve, 200));
    slow.resolve();
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, idsOf([first, second]));
  });

  test('are not overtaken by later ones when there was no room for them', async (t) => {
    const warm = await startWarm(t);
    const many = Array.from({ length: 200 }, () => warm.event());
    const few = Array.from({ length: 5 }, () => warm.event());
    await warm.tell(many);
    for (const event of few) await warm.tell([event]);
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, idsOf([...many, ...few]));
  });

  test('are not overtaken by others of the same transaction either', async (t) => {
    const warm = await startWarm(t);
    const many = Array.from({ length: 200 }, () => warm.event());
    const one = warm.event();
    await warm.commit(async (client, tell) => {
      await tell(client, many);
      await tell(client, [one]);
    });
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, idsOf([...many, one]));
  });

  test('told by several calls of one transaction are made once each and in their order', async (t) => {
    const warm = await startWarm(t);
    const events = Array.from({ length: 6 }, () => warm.event());
    await warm.commit(async (client, tell) => {
      await tell(client, events.slice(0, 2));
      await tell(client, []);
      await tell(client, events.slice(2, 3));
      await tell(client, events.slice(3));
    });
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, idsOf(events));
    assert.ok(!warm.notified.includes('deliveries'));
  });

  test('are claimed as they are written after many that were rolled back: no room leaks', async (t) => {
    const warm = await startWarm(t);
    for (let i = 0; i < 300; i += 1)
      await assert.rejects(
        warm.tell([warm.event(), warm.event()], async () => {
          throw new Error('the disk is full');
        }),
        /disk is full/,
      );
    for (let i = 0; i < 100; i += 1)
      await assert.rejects(warm.tell([warm.event({ data: { text: '\0' } })]), 'refused by the database');
    const event = warm.event();
    await warm.tell([event]);
    assert.ok(!warm.notified.includes('deliveries'), 'nobody else has to look');
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('are made within seconds when the answer to their commit is lost', async (t) => {
    const warm = await startWarm(t);
    const event = warm.event();
    await assert.rejects(
      tellEvents({ bus: parts.bus, deliveries: warm.dispatcher.direct }, async (tell) => {
        await parts.db.transaction((client) => tell(client, [event]));
        throw new Error('the connection was lost');
      }),
      /connection was lost/,
    );
    // Their lease would have to end first: a minute.
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('are freed after a lost answer, but not when they were claimed again since', async (t) => {
    const warm = await startWarm(t);
    const event = warm.event();
    const until = new Date(Date.now() + 60_000);
    const setLease = (leasedUntil: Date) =>
      parts.db.query('UPDATE webhook_deliveries SET leased_until = $2 WHERE event_id = $1', [
        event.eventId,
        leasedUntil,
      ]);
    const free = () => releaseWritten(parts.db, [event.eventId], { until, worker: null });
    assert.equal(await free(), false, 'not there yet');
    await parts.db.transaction(async (client) => {
      await client.query(
        `INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at,
                                         leased_until)
         VALUES ($1, $2, $3, now(), now() + interval '1 hour', now(), $4)`,
        [warm.webhook.companyId, warm.webhook.id, event.eventId, until],
      );
    });
    assert.equal(await free(), true);
    assert.equal(await free(), false, 'it is free');
    await setLease(new Date(until.getTime() + 1));
    assert.equal(await free(), false, 'it is being made');
    const { rows } = await parts.db.query('SELECT leased_until FROM webhook_deliveries WHERE event_id = $1', [
      event.eventId,
    ]);
    assert.deepEqual(rows, [{ leased_until: new Date(until.getTime() + 1) }]);
  });

  test('of others are claimed at once when room comes back that no event made use of', async (t) => {
    const warm = await startWarm(t);
    const found = Promise.withResolvers<void>();
    parts.bus.on('deliveries', () => found.resolve());
    // As many as it has room for, and of a type that it does not want.
    const unwanted = Array.from({ length: 36 }, () => warm.event({ type: 'group.joined' }));
    const waiting: NewEvent[] = [];
    await warm.tell(unwanted, async (client) => {
      await client.query('SELECT 1');
      waiting.push(
        ...(await emitEvents(parts, warm.webhook.companyId, 1, { createdAt: warm.event().createdAt })),
      );
      await found.promise;
      // Heard, it was looked for, and there was no room.
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    await waitFor(async () => (await pendingOf(parts.db, warm.webhook.id)) === 0, SOON_MS);
    assert.deepEqual(warm.begun, idsOf(waiting));
  });

  test('that were taken when it stops are given back', async (t) => {
    const warm = await startWarm(t);
    const gate = Promise.withResolvers<void>();
    const event = warm.event();
    const telling = warm.tell([event], async (client) => {
      await client.query('SELECT 1');
      await gate.promise;
    });
    const stopping = warm.dispatcher.stop();
    gate.resolve();
    await Promise.all([telling, stopping]);
    await waitFor(async () => {
      const { rows } = await parts.db.query<{ leased_until: Date | null }>(
        'SELECT leased_until FROM webhook_deliveries WHERE webhook_id = $1',
        [warm.webhook.id],
      );
      return rows.length === 1 && rows[0]!.leased_until === null;
    }, SOON_MS);
    assert.deepEqual(warm.begun, []);
  });
});
