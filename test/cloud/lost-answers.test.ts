import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const SENDS = 150;
const PEOPLE = Array.from({ length: 15 }, (_, nth) => `55319002${String(nth).padStart(5, '0')}`);

test(`${SENDS} sends with a fifth of the answers lost, statuses doubled and shuffled, and workers replaced: nothing goes twice, and each outcome is true`, async (t) => {
  const cloud = await startCloudSending({
    worker: { deferral: { expiresMs: 600_000, retryMs: 100, unansweredMs: 1_500 } },
  });
  t.after(() => cloud.close());
  const instance = await cloud.connect({ humanize_enabled: false });
  cloud.graph.manners(instance.number, { doubled: true, shuffled: true, perBody: 4, delayMs: 5 });
  for (const person of PEOPLE) await cloud.greet(instance, person);
  for (const kind of ['lose_answer', 'bad_gateway'] as const)
    for (const at of ['before', 'after'] as const)
      cloud.graph.fault({ kind, at }, { times: Number.POSITIVE_INFINITY, probability: 0.05 });
  cloud.graph.fault({ kind: 'fail', code: 131026 }, { times: Number.POSITIVE_INFINITY, probability: 0.05 });

  const ids: string[] = [];
  for (let nth = 0; nth < SENDS; nth += 1) {
    ids.push(
      await cloud.send(instance, '/messages/text', { to: PEOPLE[nth % PEOPLE.length], text: `text ${nth}` }),
    );
    if (nth === 50) await cloud.startWorker();
    if (nth === 100) await cloud.worker.stop();
  }
  const open = async () => {
    const { rows } = await cloud.api.parts.db.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM messages WHERE direction = 'outbound' AND status IN ('queued', 'sent')`,
    );
    return rows[0]!.n;
  };
  await waitFor(async () => (await open()) === 0, 150_000, { what: 'every message has an outcome' });
  await cloud.drained();

  const statusOf = new Map<string, string>();
  for (const id of ids) {
    const { status, failed_reason } = await cloud.status(instance, id);
    statusOf.set(id.replaceAll('-', '').toUpperCase(), failed_reason ?? status);
  }
  const taken = new Set(cloud.graph.world.ledger.map(({ callbackData }) => callbackData!));
  assert.equal(taken.size, cloud.graph.world.ledger.length, 'nothing went twice');
  for (const [name, told] of statusOf)
    if (taken.has(name))
      assert.ok(told === 'delivered' || told === 'undeliverable', `${told} of one that was taken`);
    else assert.equal(told, 'outcome_unknown', 'of one that was not taken');
  const counts = Object.entries(Object.groupBy(statusOf.values(), (told) => told)).map(
    ([told, all]) => `${all!.length} ${told}`,
  );
  t.diagnostic(counts.join(', '));
});
