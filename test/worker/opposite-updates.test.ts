import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DEFAULT_SHARDS } from '@posthorn/core/instances/shard.ts';
import { fenceDead } from '@posthorn/core/workers/members.ts';
import { handOver, leaveToOthers, raiseEpochs } from '@posthorn/core/workers/own-shards.ts';
import { createParts, type Parts } from '../support/parts.ts';

const ROUNDS = 40;
const AT_ONCE = 3;
const NAME = 'opposite';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

async function enterDead(): Promise<number> {
  const { rows } = await parts.db.query<{ id: number }>(
    `INSERT INTO workers (name, tag, backend_pid, beat_at) VALUES ($1, '#none', 0, now() - interval '1 hour') RETURNING id`,
    [NAME],
  );
  return rows[0]!.id;
}

test('workers that take, hand over, leave and lose the same shards at once never wait for each other in a circle', async () => {
  const ascending = Array.from({ length: DEFAULT_SHARDS }, (_, shard) => shard);
  const descending = ascending.toReversed();
  const leases = async (order: readonly number[]) => {
    const { rows } = await parts.db.query<{ shard: number; epoch: number }>(
      'SELECT shard::integer, epoch FROM shards',
    );
    return order.map((shard) => rows.find((row) => row.shard === shard)!);
  };
  const steps = [
    async () => handOver(parts.db, await leases(ascending)),
    async () => leaveToOthers(parts.db, await leases(descending)),
    async () => {
      const id = await enterDead();
      await raiseEpochs(parts.db, { name: NAME, id }, ascending);
      await fenceDead(parts.db, [id]);
    },
  ];
  const failures: unknown[] = [];
  await Promise.all(
    steps
      .flatMap((step) => Array.from({ length: AT_ONCE }, () => step))
      .map(async (step) => {
        for (let round = 0; round < ROUNDS && failures.length === 0; round += 1)
          await step().catch((err) => failures.push(err));
      }),
  );
  assert.deepEqual(failures, []);
});
