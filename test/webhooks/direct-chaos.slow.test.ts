import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { NewEvent } from '@posthorn/core/events/insert-events.ts';
import { tellEvents } from '@posthorn/core/events/tell-events.ts';
import { webhookNotification } from '@posthorn/core/webhooks/notifications.ts';
import { newEvent } from '../events/support.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { pendingOf, seedWebhook, startDispatcher, startReceiver, type TestDispatcher } from './support.ts';

const ROUNDS = 150;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('deliveries are made once each, whatever becomes of the transactions and webhooks of their events', async (t) => {
  const dispatchers = await Promise.all([startDispatcher(parts), startDispatcher(parts)]);
  for (const dispatcher of dispatchers) t.after(dispatcher.close);
  const receiver = await startReceiver((_req, res) => setTimeout(() => res.end('ok'), Math.random() * 20));
  t.after(receiver.close);
  const companies = await Promise.all([seedCompany(parts.db), seedCompany(parts.db)]);
  const webhooks = await Promise.all(
    companies.flatMap(({ companyId }) => [
      seedWebhook(parts.db, companyId, `${receiver.url}/a`),
      seedWebhook(parts.db, companyId, `${receiver.url}/b`, { patterns: ['message.sent'] }),
    ]),
  );
  const wanted: string[] = [];
  const random = (below: number) => Math.floor(Math.random() * below);
  const someEvents = (): NewEvent[] =>
    Array.from({ length: 1 + random(random(5) === 0 ? 60 : 4) }, () =>
      newEvent(companies[random(2)]!.companyId, {
        type: random(2) ? 'message.sent' : 'message.read',
      }),
    );

  /** One transaction of one to three calls, which commits, fails, or commits and loses its answer. */
  async function tellSome(dispatcher: TestDispatcher): Promise<void> {
    const calls = Array.from({ length: 1 + random(3) }, someEvents);
    const fate = random(6);
    const telling = tellEvents({ bus: parts.bus, deliveries: dispatcher.direct }, async (tell) => {
      await parts.db.transaction(async (client) => {
        for (const events of calls) await tell(client, events);
        if (fate === 0) throw new Error('rolled back');
      });
      if (fate === 1) throw new Error('not answered');
    });
    await telling.catch(() => undefined);
    if (fate === 0) return;
    for (const { eventId, type } of calls.flat())
      wanted.push(`/a ${eventId}`, ...(type === 'message.sent' ? [`/b ${eventId}`] : []));
  }

  async function changeOne(): Promise<void> {
    const { id } = webhooks[random(webhooks.length)]!;
    await parts.db.query('UPDATE webhooks SET url = url WHERE id = $1', [id]);
    if (random(2)) parts.bus.notify('deliveries', webhookNotification(id));
  }

  const inTurns = async (run: () => Promise<void>, rounds: number) => {
    for (let i = 0; i < rounds; i += 1) await run();
  };
  await Promise.all([
    ...dispatchers.flatMap((dispatcher) => [
      inTurns(() => tellSome(dispatcher), ROUNDS),
      inTurns(() => tellSome(dispatcher), ROUNDS),
    ]),
    inTurns(changeOne, ROUNDS),
  ]);
  // Well before the end of any lease.
  await waitFor(
    async () => {
      const left = await Promise.all(webhooks.map(({ id }) => pendingOf(parts.db, id)));
      return left.every((n) => n === 0);
    },
    50_000,
    { what: 'everything is delivered' },
  );
  const got = receiver.received.map(({ path, headers }) => `${path} ${headers['webhook-id']}`);
  assert.deepEqual(got.toSorted(), wanted.toSorted());
  await waitFor(() => dispatchers.every((each) => each.load().held === 0), 30_000, {
    what: 'nothing is held',
  });
});
