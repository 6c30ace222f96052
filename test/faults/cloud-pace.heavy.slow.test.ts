import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { LAST_MS, useCloudSystem } from './cloud-system.ts';

const CHATS = sized(40, 200, 200);
const EACH = sized(3, 5, 20);
/** How often a send to the person at the limit is refused: each time it waits four times as long, from 4 s on. */
const REFUSALS = sized(2, 2, 3);
/** The time that Meta takes to answer. */
const ANSWER_MS = 250;

test(`one number sends to ${CHATS} chats at 80 messages a second while each answer takes ${ANSWER_MS} ms, in order within each, and a chat at the pair limit delays no other`, async (t) => {
  const { graph, ...cloud } = await useCloudSystem(t, { workers: 1 });
  const people = Array.from({ length: CHATS }, (_, nth) => `55319003${String(nth).padStart(5, '0')}`);
  const [limited, ...others] = people;
  await cloud.greet(people);
  graph.world.answerDelayMs = ANSWER_MS;
  graph.fault({ kind: 'error', code: 131056 }, { person: limited!, times: REFUSALS });

  const expected = new Map<string, string[]>(people.map((person) => [person, []]));
  const acceptedAt = new Map<string, number>();
  for (let nth = 0; nth < EACH; nth += 1)
    await Promise.all(
      people.map(async (person) => {
        const id = await cloud.send(person, `${nth}`);
        const name = id.replaceAll('-', '').toUpperCase();
        expected.get(person)!.push(name);
        acceptedAt.set(name, Date.now());
      }),
    );
  const takenOf = (to: readonly string[]) => {
    const wanted = new Set(to);
    return graph.world.ledger.filter((each) => wanted.has(each.to));
  };
  await waitFor(() => takenOf(others).length === others.length * EACH, LAST_MS, { everyMs: 100 });
  assert.equal(takenOf([limited!]).length, 0, 'the chat at the limit waits until all others are through');
  const times = takenOf(others).map(({ at }) => at);
  await waitFor(() => takenOf([limited!]).length === EACH, LAST_MS, { everyMs: 100 });
  for (const [person, names] of expected)
    assert.deepEqual(
      takenOf([person]).map(({ callbackData }) => callbackData),
      names,
    );
  const accepting = Math.max(...acceptedAt.values()) - Math.min(...acceptedAt.values());
  const seconds = (Math.max(...times) - Math.min(...times)) / 1_000;
  tellFigure(
    `${times.length} messages to ${others.length} chats beside one at the pair limit`,
    times.length / seconds,
    { atLeast: 80 },
    'a second',
  );
  const heldMs = Math.min(
    ...takenOf([limited!]).map(({ at, callbackData }) => at - acceptedAt.get(callbackData!)!),
  );
  t.diagnostic(
    `in order in each of ${CHATS} chats; the one at the limit waited ${Math.round(heldMs / 1_000)} s; accepting took ${Math.round(accepting / 1_000)} s`,
  );
});

const LIMIT = 80;

test(`a number that Meta takes ${LIMIT} messages a second of keeps on close to that, and loses none`, async (t) => {
  const { graph, number, ...cloud } = await useCloudSystem(t, { workers: 1 });
  const people = Array.from({ length: CHATS }, (_, nth) => `55319004${String(nth).padStart(5, '0')}`);
  await cloud.greet(people);
  number.perSecond = LIMIT;
  const count = CHATS * EACH;
  for (let nth = 0; nth < EACH; nth += 1)
    await Promise.all(people.map((person) => cloud.send(person, `${nth}`)));
  await waitFor(() => graph.world.ledger.length === count, LAST_MS, { everyMs: 100 });
  const times = graph.world.ledger.map(({ at }) => at);
  const seconds = (times.at(-1)! - times[0]!) / 1_000;
  tellFigure(
    `${count} messages at a limit of ${LIMIT} a second`,
    count / seconds,
    { atLeast: 60 },
    'a second',
  );
  await cloud.drained();
  const { rows } = await cloud.system.db.query<{ status: string; n: number }>(
    `SELECT status, count(*)::integer AS n FROM messages WHERE direction = 'outbound' GROUP BY 1`,
  );
  assert.deepEqual(rows, [{ status: 'delivered', n: count }]);
});
