import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { knownWorkers } from './hurt-workers.ts';
import { connectInstances, proveExactlyOnce } from './traffic.ts';
import { useSystem } from './use-system.ts';

const INSTANCES = 4;
const SENDS = sized(40, 40, 400);
const PAUSES = sized(2, 2, 9);
/** A worker that is silent for this long is not declared dead. */
const PAUSE_MS = 3_000;
const APART_MS = 150;
/** The time to schedule all of them on a busy machine. */
const AHEAD_MS = 20_000;

test(`a worker that claimed scheduled sends is frozen for 3 s, ${PAUSES} times: no send overtakes another of its instance`, async (t) => {
  const system = await useSystem(t, { workers: 3 });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const { rows } = await system.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const firstMs = rows[0]!.now.getTime() + AHEAD_MS;
  const ids = new Map<string, string[]>();
  await Promise.all(
    instances.map(async (instance, nth) => {
      const own: string[] = [];
      ids.set(instance.id, own);
      for (let i = 0; i < SENDS; i += 1) {
        const answer = await fetch(`${system.urls[0]}/v1/instances/${instance.id}/messages/scheduled`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-api-key': company.apiKey,
            'idempotency-key': randomUUID(),
          },
          body: JSON.stringify({
            type: 'text',
            send_at: new Date(firstMs + i * APART_MS).toISOString(),
            // At most two a contact, so that the guard lets them pass.
            body: {
              to: `5521${String(nth * 10_000 + Math.floor(i / 2)).padStart(9, '0')}`,
              text: `nth ${i}`,
            },
          }),
        });
        const { id } = (await answer.json()) as { id: string };
        assert.equal(answer.status, 202);
        own.push(id);
      }
    }),
  );

  const all = [...ids.values()].flat();
  const left = async () =>
    (
      await system.db.query<{ claimed_by: number | null; status: string }>(
        `SELECT claimed_by, status FROM scheduled_sends
         WHERE id = ANY ($1::uuid[]) AND status IN ('scheduled', 'claimed') ORDER BY send_at, id`,
        [all],
      )
    ).rows;
  let paused = 0;
  while (paused < PAUSES) {
    const workers = await knownWorkers(system);
    const rows = await left();
    if (rows.length === 0) break;
    const claimed = rows.find(({ status, claimed_by }) => status === 'claimed' && claimed_by !== null);
    const claimer = workers.find(({ id }) => id === claimed?.claimed_by);
    if (!claimer) {
      await delay(1);
      continue;
    }
    claimer.process.signal('SIGSTOP');
    await delay(PAUSE_MS);
    claimer.process.signal('SIGCONT');
    paused += 1;
    await delay(200);
  }
  t.diagnostic(`${paused} workers stood still with claims in their hands`);
  assert.ok(paused > 0);
  await waitFor(async () => (await left()).length === 0, 120_000, {
    what: 'all scheduled sends are accepted',
    everyMs: 100,
  });
  await proveExactlyOnce(system, instances, ids);
});
