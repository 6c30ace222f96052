import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { killAlong, LAST_MS, useCloudSystem } from './cloud-system.ts';

const KILLS = sized(1, 8, 20);
const SENDS = sized(200, 1_000, 10_000);
/** One sender each, so that the sends last as long as the kills. */
const SENDERS = 8;
const PEOPLE = 40;
/**
 * The share of answers that are lost: by a cut and by the error page of a proxy, before the network took the message
 * and after.
 */
const LOST = 0.1;
/** A send without an answer fails after this time; at first, statuses are held back for longer. */
const STATUS_WAIT_S = sized(4, 10, 30);

test(`${SENDS} sends of which a tenth get no answer, statuses doubled, shuffled and late, the workers and the API killed ${KILLS} times each: nothing is sent twice, each outcome is true, and none is unknown whose status came`, async (t) => {
  const cloud = await useCloudSystem(t, {
    workers: 2,
    env: { GRAPH_STATUS_WAIT_SECONDS: String(STATUS_WAIT_S) },
  });
  const { system, graph, number } = cloud;
  const [unreachable, ...reachable] = Array.from(
    { length: PEOPLE },
    (_, nth) => `55319000${String(nth).padStart(5, '0')}`,
  );
  const people = [unreachable!, ...reachable];
  await cloud.greet(people);
  graph.manners(number, { doubled: true, shuffled: true, perBody: 5 });
  // The first fault that matches applies: these answers are never lost.
  graph.fault({ kind: 'fail', code: 131026 }, { person: unreachable!, times: Number.POSITIVE_INFINITY });
  for (const kind of ['lose_answer', 'bad_gateway'] as const)
    for (const at of ['before', 'after'] as const)
      graph.fault({ kind, at }, { times: Number.POSITIVE_INFINITY, probability: LOST / 4 });

  const taken = () => new Set(graph.world.ledger.map(({ callbackData }) => callbackData));
  const sent: { id: string; to: string }[] = [];
  const sending = Promise.all(
    Array.from({ length: SENDERS }, async (_, lane) => {
      for (let nth = lane; nth < SENDS; nth += SENDERS) {
        const to = people[nth % PEOPLE]!;
        sent.push({ id: await cloud.send(to, `text ${nth}`), to });
      }
    }),
  );
  graph.poster(number).hold(true);
  const late = (async () => {
    const isTooLate = async () =>
      [...(await outcomesOf(system))].some(
        ([id, told]) => told === 'outcome_unknown' && taken().has(atNetwork(id)),
      );
    await waitFor(isTooLate, LAST_MS, { what: 'a status is too late', everyMs: 200 });
    await delay(1_000);
    graph.poster(number).hold(false);
  })();
  // More messages are accepted than the network takes, and some of those that it never takes come at the very end.
  const progress = () => graph.world.ledger.length / (SENDS * (1 - LOST));
  const killing = killAlong(KILLS, progress, () => [
    system.workers[randomInt(system.workers.length)]!,
    system.messaging[0]!,
  ]);
  await Promise.all([sending, killing, late]);
  await cloud.drained();
  const outcomes = await waitFor(
    async () => {
      const all = await outcomesOf(system);
      return ![...all.values()].includes('queued') && all;
    },
    LAST_MS,
    { what: 'every message has an outcome', everyMs: 500 },
  );
  await cloud.drained();

  const inTheEnd = taken();
  assert.equal(inTheEnd.size, graph.world.ledger.length, 'nothing was sent twice');
  assert.equal(outcomes.size, SENDS, 'each 202 is one message');
  const counts = new Map<string, number>();
  for (const { id, to } of sent) {
    const truth = to === unreachable ? 'undeliverable' : 'delivered';
    const told = outcomes.get(id)!;
    assert.equal(told, inTheEnd.has(atNetwork(id)) ? truth : 'outcome_unknown', id);
    counts.set(told, (counts.get(told) ?? 0) + 1);
  }
  const settled = (await countUnknown(system)) - (counts.get('outcome_unknown') ?? 0);
  assert.ok(settled > 0, 'some statuses came after their message had failed as unknown');
  const figures = [...counts].map(([told, count]) => `${count} ${told}`).join(', ');
  t.diagnostic(
    `${sent.length} sends, ${inTheEnd.size} taken, none twice: ${figures}; ${settled} were unknown until a late status; ${KILLS} kills of a worker, ${KILLS} of the API`,
  );
});

/** The name under which the network keeps a message of ours. */
function atNetwork(id: string): string {
  return id.replaceAll('-', '').toUpperCase();
}

/** By message: its state, or the reason of its failure. */
async function outcomesOf({ db }: System): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; told: string }>(
    `SELECT id, coalesce(failed_reason, status) AS told FROM messages WHERE direction = 'outbound'`,
  );
  return new Map(rows.map(({ id, told }) => [id, told]));
}

/** How many messages were reported as failed with an unknown outcome, those included that a status settled later. */
async function countUnknown({ db }: System): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM events WHERE type = 'text.delivery_failed' AND data->>'reason' = 'outcome_unknown'`,
  );
  return rows[0]!.n;
}
