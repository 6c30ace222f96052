import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCloudSending } from '../support/cloud/cloud-sending.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';

const CHATS = 200;
const EACH = 5;
/** What Meta takes for an answer. */
const ANSWER_MS = 250;

test(`one number sends to ${CHATS} chats at 80 messages a second while each answer takes ${ANSWER_MS} ms, in order within each`, async (t) => {
  const cloud = await startCloudSending();
  t.after(() => cloud.close());
  const instance = await cloud.connect({ humanize_enabled: false });
  const people = Array.from({ length: CHATS }, (_, nth) => `55319003${String(nth).padStart(5, '0')}`);
  for (const person of people) cloud.graph.write(person, instance.number, 'text', { body: 'Hello' });
  await cloud.drained();
  cloud.graph.world.answerDelayMs = ANSWER_MS;
  const startedAt = performance.now();
  const expected = new Map<string, string[]>();
  for (let nth = 0; nth < EACH; nth += 1) {
    await Promise.all(
      people.map(async (person) => {
        const id = await cloud.send(instance, '/messages/text', { to: person, text: `${nth}` });
        expected.set(person, [...(expected.get(person) ?? []), id.replaceAll('-', '').toUpperCase()]);
      }),
    );
  }
  await waitFor(async () => cloud.graph.world.ledger.length === CHATS * EACH, 120_000);
  const perSecond = (CHATS * EACH * 1_000) / (performance.now() - startedAt);
  tellFigure(`${CHATS * EACH} messages to ${CHATS} chats`, perSecond, { atLeast: 80 }, 'a second');
  const sent = Map.groupBy(cloud.graph.world.ledger, ({ to }) => to);
  for (const [person, ids] of expected)
    assert.deepEqual(
      sent.get(person)!.map(({ callbackData }) => callbackData),
      ids,
    );
});
