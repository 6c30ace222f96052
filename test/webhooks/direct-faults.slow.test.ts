import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { NewEvent } from '@posthorn/core/events/insert-events.ts';
import { tellEvents } from '@posthorn/core/events/tell-events.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { releaseWritten } from '@posthorn/worker/webhooks/claim-deliveries.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { emitEvents } from './support.ts';
import { idsOf, SOON_MS, startWarm } from './warm-dispatcher.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

async function newWorker(): Promise<number> {
  const { rows } = await parts.db.query<{ id: number }>(
    `INSERT INTO workers (name, tag, backend_pid) VALUES ('test', 'test', 0) RETURNING id`,
  );
  return rows[0]!.id;
}

describe('deliveries that were claimed as they were written', () => {
  test('are claimed as they are written after many that were rolled back: no room leaks', async (t) => {
    const warm = await startWarm(parts, t);
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
    await warm.isDone();
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('are made within seconds when the answer to their commit is lost', async (t) => {
    const warm = await startWarm(parts, t);
    const event = warm.event();
    await assert.rejects(
      tellEvents({ bus: parts.bus, deliveries: warm.dispatcher.direct }, async (tell) => {
        await parts.db.transaction((client) => tell(client, [event]));
        throw new Error('the connection was lost');
      }),
      /connection was lost/,
    );
    // Otherwise their lease would have to end first, which takes a minute.
    await warm.isDone();
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('are made once when the answer to their commit is lost and their endpoint is slow', async (t) => {
    const answer = Promise.withResolvers<void>();
    let isSlow = false;
    const warm = await startWarm(parts, t, {
      answer: (_req, res) => void (isSlow ? answer.promise : Promise.resolve()).then(() => res.end()),
    });
    isSlow = true;
    const event = warm.event();
    await assert.rejects(
      tellEvents({ bus: parts.bus, deliveries: warm.dispatcher.direct }, async (tell) => {
        await parts.db.transaction((client) => tell(client, [event]));
        throw new Error('the connection was lost');
      }),
    );
    await waitFor(() => warm.begun.length > 0, SOON_MS);
    // Deliveries that were committed late are freed after five seconds: this one is under way by then.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    answer.resolve();
    await warm.isDone();
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('are made once, under the new worker id, when the claim was made under one that was taken away meanwhile', async (t) => {
    const ids = await Promise.all([newWorker(), newWorker()]);
    let nth = 0;
    let fenced = () => {};
    const pulse: Pulse = {
      isAlive: () => true,
      id: () => ids[nth]!,
      onFenced: (handler) => {
        fenced = handler;
      },
      onAlive: () => undefined,
    };
    const warm = await startWarm(parts, t, { pulse, clock: systemClock });
    const event = warm.event();
    await warm.tell([event], async (client) => {
      await client.query('SELECT 1');
      await parts.db.query('DELETE FROM workers WHERE id = $1', [ids[0]]);
      nth = 1;
      fenced();
    });
    await warm.isDone();
    assert.deepEqual(warm.begun, [event.eventId]);
    const load = warm.dispatcher.load();
    assert.deepEqual([load.held, load.inFlight], [0, 0]);
  });

  test('are freed after a lost answer, but not when they were claimed again since', async (t) => {
    const warm = await startWarm(parts, t);
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

  test('that others wrote are claimed at once when reserved room comes back unused', async (t) => {
    const warm = await startWarm(parts, t);
    const found = Promise.withResolvers<void>();
    parts.bus.on('deliveries', () => found.resolve());
    // As many as it has room for, and of a type that the webhook does not want.
    const unwanted = Array.from({ length: 18 }, () => warm.event({ type: 'group.joined' }));
    const waiting: NewEvent[] = [];
    await warm.commit(async (client, tell) => {
      await tell(client, unwanted);
      await tell(
        client,
        unwanted.map(() => warm.event({ type: 'group.joined' })),
      );
      await client.query('SELECT 1');
      waiting.push(
        ...(await emitEvents(parts, warm.webhook.companyId, 1, { createdAt: warm.event().createdAt })),
      );
      await found.promise;
      // After the notification it was looked for, and there was no room.
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    await warm.isDone();
    assert.deepEqual(warm.begun, idsOf(waiting));
  });

  test('are given back when the worker stops', async (t) => {
    const warm = await startWarm(parts, t);
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
