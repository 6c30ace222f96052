import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readSse } from '../events/support.ts';
import { tellFigure } from '../support/figures.ts';
import type { RunningProcess } from '../support/process.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { watchGrowth } from './hurt-workers.ts';
import { connectInstances, proveExactlyOnce, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

export const FROZEN_MS = sized(20_000, 20_000, 100_000);
const INSTANCES = 16;
/** Sends and streams continue within this time. */
const AIM_MS = 15_000;
/** A delay that no busy machine explains: as long as the freeze itself, which was once a bug. */
const NEVER_MS = FROZEN_MS * 0.95;
const PAUSE_MS = 1_000;

/** The processes that `freezeUnderLoad` wakes again. */
export type Frozen = Pick<RunningProcess, 'signal'>;

/**
 * Freezes the processes of `freeze` under load, and wakes them; meanwhile everything continues, and afterwards nothing
 * is doubled.
 */
export async function freezeUnderLoad(
  t: TestContext,
  what: string,
  freeze: (system: System) => Promise<Frozen>,
): Promise<void> {
  const system = await useSystem(t, { workers: 3, messaging: 2 });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const [frozenUrl, liveUrl] = system.urls as [string, string];
  // Clients of an API that may be frozen wait for it; the others must not.
  const half = INSTANCES / 2;
  const perInstance = Math.round(FROZEN_MS / PAUSE_MS);
  const viaFrozen = sendTexts(
    { ...system, urls: [frozenUrl] },
    company,
    instances.slice(0, half),
    perInstance,
    PAUSE_MS,
  );
  const viaLive = sendTexts(
    { ...system, urls: [liveUrl] },
    company,
    instances.slice(half),
    perInstance,
    PAUSE_MS,
  );
  const streamed: string[] = [];
  const stream = await readSse(
    `${liveUrl}/v1/events/stream`,
    { 'x-api-key': company.apiKey },
    ({ data }) => void streamed.push((JSON.parse(data) as { event_id: string }).event_id),
  );
  t.after(() => stream.cut());
  await waitFor(() => streamed.length > 50, 60_000, { what: 'events are streamed' });

  const victim = await freeze(system);
  const liveIds = instances.slice(half).map(({ id }) => id);
  const sends = watchGrowth(async () => {
    const { rows } = await system.db.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM messages WHERE sent_at IS NOT NULL AND instance_id = ANY ($1::uuid[])`,
      [liveIds],
    );
    return rows[0]!.n;
  });
  const stalled = watchGrowth(async () => {
    const { rows } = await system.db.query<{ n: number }>(
      // Counts up with every look, for instances on which nothing waits for more than a moment.
      `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint * (NOT EXISTS (
         SELECT 1 FROM outbox WHERE created_at < now() - interval '1 s'))::int AS n`,
    );
    return rows[0]!.n;
  });
  const streams = watchGrowth(async () => streamed.length);
  await delay(FROZEN_MS * 0.8);
  const [sendStand, taskStand, streamStand] = await Promise.all([sends.end(), stalled.end(), streams.end()]);
  await delay(FROZEN_MS * 0.2);
  victim.signal('SIGCONT');

  const accepted = new Map([...(await viaFrozen.done), ...(await viaLive.done)]);
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await waitFor(async () => {
    // All events after the first one that it got; events from before its start are not for it.
    const { rows } = await system.db.query<{ event_id: string }>(
      `SELECT event_id FROM events WHERE company_id = $1 AND tx < event_horizon()
         AND (tx, id) >= (SELECT tx, id FROM events WHERE company_id = $1 AND event_id = $2)`,
      [company.companyId, streamed[0]],
    );
    const seen = new Set(streamed);
    const missing = rows.filter(({ event_id }) => !seen.has(event_id)).length;
    if (missing === 0) return true;
    const end = stream.response.closed ? `it ended: ${stream.frames.at(-1)?.data}` : 'it is open';
    throw new Error(`${missing} of ${rows.length} events were not streamed, and ${end}`);
  }, 60_000);
  assert.equal(new Set(streamed).size, streamed.length, 'no event is streamed twice');
  for (const [name, { longestStandMs }] of Object.entries({
    'no send at all': sendStand,
    'some send waited': taskStand,
    'the stream stood still': streamStand,
  })) {
    tellFigure(`${what} frozen: ${name} for`, longestStandMs, { atMost: AIM_MS });
    assert.ok(longestStandMs < NEVER_MS, `${what}: ${name} for as long as it was frozen`);
  }
  t.diagnostic(`repeats that the network dropped: ${repeatsDropped}`);
}
