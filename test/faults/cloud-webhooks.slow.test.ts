import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { killAlong, LAST_MS, useCloudSystem } from './cloud-system.ts';

const KILLS = sized(1, 8, 20);
const WEBHOOKS = sized(200, 1_000, 10_000);
const PEOPLE = 40;

test(`${WEBHOOKS} webhooks, doubled and shuffled, and the API killed ${KILLS} times: each message is recorded, and none twice`, async (t) => {
  const cloud = await useCloudSystem(t, { workers: 1 });
  const { system, graph, number } = cloud;
  const poster = graph.poster(number);
  graph.manners(number, { doubled: true, shuffled: true });
  poster.hold(true);
  const received: string[] = [];
  const echoed: string[] = [];
  for (let nth = 0; nth < WEBHOOKS; nth += 1) {
    const person = `55319000${String(nth % PEOPLE).padStart(5, '0')}`;
    const text = { body: `text ${nth}` };
    if (nth % 10 === 0) echoed.push(graph.echo(number, person, 'text', text));
    else received.push(graph.write(person, number, 'text', text));
  }
  const posts = poster.pending();
  assert.equal(posts, 2 * WEBHOOKS, 'each webhook is posted twice');
  poster.hold(false);
  await killAlong(
    KILLS,
    () => 1 - poster.pending() / posts,
    () => [system.messaging[0]!],
  );
  await waitFor(() => poster.pending() === 0, LAST_MS, { what: 'all are taken', everyMs: 200 });
  await cloud.drained();

  const told = async (direction: string, type: string) => {
    const { rows } = await system.db.query<{ id: string; n: number }>(
      `SELECT m.network_id AS id, count(e.id)::integer AS n
       FROM messages m LEFT JOIN events e ON e.type = $2 AND e.data->'message_ids'->>0 = m.id::text
       WHERE m.direction = $1 GROUP BY m.id`,
      [direction, type],
    );
    return rows.map(({ id, n }) => `${id} ${n}`).sort();
  };
  const once = (ids: readonly string[]) => ids.map((id) => `${id} 1`).sort();
  assert.deepEqual(await told('inbound', 'message.received'), once(received));
  assert.deepEqual(await told('outbound', 'message.sent'), once(echoed));
  t.diagnostic(
    `${posts} posts of ${WEBHOOKS} webhooks: ${received.length} messages and ${echoed.length} of the own phone, each told once; ${KILLS} kills of the API`,
  );
});

test(`${WEBHOOKS} webhooks in order, and the workers killed ${KILLS} times each: each message is recorded once, and in that order`, async (t) => {
  const { system, graph, number, drained } = await useCloudSystem(t, { workers: 2 });
  const poster = graph.poster(number);
  poster.hold(true);
  const written: string[] = [];
  for (let nth = 0; nth < WEBHOOKS; nth += 1)
    written.push(graph.write('5531900000001', number, 'text', { body: `text ${nth}` }));
  poster.hold(false);
  await killAlong(
    KILLS,
    () => 1 - poster.pending() / WEBHOOKS,
    () => system.workers,
  );
  await drained();
  const { rows } = await system.db.query<{ id: string }>(
    `SELECT m.network_id AS id FROM events e JOIN messages m ON m.id::text = e.data->'message_ids'->>0
     WHERE e.type = 'message.received' ORDER BY e.tx, e.id`,
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    written,
  );
});
