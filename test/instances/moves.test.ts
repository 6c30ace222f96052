import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { placeInstance } from '@posthorn/core/operations/place-instance.ts';
import { lookAtShards, raiseShards } from '@posthorn/core/operations/raise-shards.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const MORE = 64;
const CLOSE_MS = 300;

/** Closes sessions slowly: a session that is opened before the last one is closed would be a second one. */
function slowToClose(driver: NetworkDriver): NetworkDriver {
  return {
    ...driver,
    async open(request, sink) {
      const session = await driver.open(request, sink);
      const close = async () => {
        await delay(CLOSE_MS);
        await session.close();
      };
      return { ...session, close };
    },
  };
}

describe('instances that move between shards', () => {
  let sending: Sending;
  before(async () => {
    sending = await startSending({ held: { around: slowToClose, releaseAll: () => undefined } });
  });
  after(() => sending.close());

  const db = () => sending.api.parts.db;

  async function shardNow(id: string): Promise<number> {
    const { rows } = await db().query<{ shard: number }>('SELECT shard FROM instances WHERE id = $1', [id]);
    return rows[0]!.shard;
  }

  async function accountOf({
    phone,
  }: TestInstance): Promise<{ epoch: number; live: number; max_live: number }> {
    const { accounts } = await sending.sandbox.get('/sessions');
    return accounts.find((account: { phone: string }) => account.phone === phone);
  }

  const isBack = (instance: TestInstance) =>
    waitFor(async () => (await accountOf(instance)).live === 1, undefined, {
      what: 'its session is open again',
    });

  async function sendInOrder(instance: TestInstance, count: number, meanwhile: () => Promise<unknown>) {
    const to = sending.newPhone();
    const texts = Array.from({ length: count }, (_, nth) => `text ${nth}`);
    const moving = meanwhile();
    for (const text of texts) await sending.send(instance, '/messages/text', { to, text });
    await moving;
    await waitFor(async () => (await sending.shown(to)).length >= count, 30_000);
    const shown = await sending.shown(to);
    assert.deepEqual(
      shown.map((message) => message.text ?? message.content?.text),
      texts,
    );
  }

  test('an operator moves an instance into another shard: messages sent meanwhile arrive once and in order, by one session at a time', async () => {
    const instance = await sending.connect();
    const to = (shardOf(instance.id, DEFAULT_SHARDS) + 1) % DEFAULT_SHARDS;
    await sendInOrder(instance, 30, async () => {
      assert.equal(await placeInstance(db(), instance.id, { shard: to }), to);
      await waitFor(async () => (await shardNow(instance.id)) === to);
    });
    await isBack(instance);
    assert.equal((await accountOf(instance)).max_live, 1);
  });

  test('the network sees its epoch grow, although the new shard has had fewer owners', async () => {
    const instance = await sending.connect();
    const from = await shardNow(instance.id);
    const to = (from + 5) % DEFAULT_SHARDS;
    // As after many owners, the last of which showed this epoch to the network.
    await db().query('UPDATE instances SET epoch_offset = 100 WHERE id = $1', [instance.id]);
    await sending.call(instance, 'POST', '/restart');
    await waitFor(async () => (await accountOf(instance)).epoch > 100);
    const before = await accountOf(instance);
    await placeInstance(db(), instance.id, { shard: to });
    await waitFor(async () => (await accountOf(instance)).epoch > before.epoch);
    await isBack(instance);
  });

  test('calls and cancellations find the owner in the new shard', async () => {
    const instance = await sending.connect();
    const to = (shardOf(instance.id, DEFAULT_SHARDS) + 2) % DEFAULT_SHARDS;
    await placeInstance(db(), instance.id, { shard: to });
    await waitFor(async () => (await shardNow(instance.id)) === to);
    await isBack(instance);
    assert.equal((await sending.call(instance, 'GET', '/profile')).status, 200);
    assert.equal((await sending.call(instance, 'DELETE', '/queue')).status, 200);
  });

  test('a request that was written for the old shard is answered by the owner of the new one', async () => {
    const instance = await sending.connect();
    // The caller read the row before the move: the request names a shard where the instance no longer is.
    const stale = (shardOf(instance.id, DEFAULT_SHARDS) + 9) % DEFAULT_SHARDS;
    await db().query(
      `INSERT INTO network_calls (id, instance_id, shard, op, args, expires_at)
       VALUES (gen_random_uuid(), $1, $2, 'cancel', '{}', now() + interval '1 minute')`,
      [instance.id, stale],
    );
    await waitFor(async () => {
      const { rows } = await db().query<{ state: string; error: string | null }>(
        'SELECT state, error FROM network_calls WHERE instance_id = $1',
        [instance.id],
      );
      return rows[0]?.state === 'answered' && rows[0].error === null;
    });
  });

  test('with more shards each goes to its own, but for those that an operator placed, and new ones spread over all', async () => {
    const placed = await sending.connect();
    const to = (shardOf(placed.id, DEFAULT_SHARDS) + 3) % DEFAULT_SHARDS;
    await placeInstance(db(), placed.id, { shard: to });
    const others = await Promise.all(Array.from({ length: 6 }, () => sending.connect()));
    await raiseShards(db(), MORE);
    await waitFor(async () => (await lookAtShards(db())).toMove === 0, 30_000);
    for (const { id } of others) assert.equal(await shardNow(id), shardOf(id, MORE));
    assert.equal(await shardNow(placed.id), to);
    await Promise.all([placed, ...others].map(isBack));
    for (const instance of others) assert.equal((await accountOf(instance)).max_live, 1);

    await placeInstance(db(), placed.id, 'home');
    await waitFor(async () => (await shardNow(placed.id)) === shardOf(placed.id, MORE));
    await isBack(placed);

    const made = await sending.api.call('POST', '/v1/instances', {
      key: sending.company.apiKey,
      body: { name: 'made among more' },
    });
    assert.equal(await shardNow(made.body.id), shardOf(made.body.id, MORE));
  });

  test('one without a session moves too', async () => {
    const made = await sending.api.call('POST', '/v1/instances', {
      key: sending.company.apiKey,
      body: { name: 'never connected' },
    });
    const to = (shardOf(made.body.id, MORE) + 1) % MORE;
    await placeInstance(db(), made.body.id, { shard: to });
    await waitFor(async () => (await shardNow(made.body.id)) === to);
  });

  test('fewer shards, no shard of that number, no such instance, and a worker of the release before are refused', async () => {
    const { id } = await sending.connect();
    await assert.rejects(raiseShards(db(), MORE - 1), StartError);
    await assert.rejects(raiseShards(db(), 5_000), StartError);
    await assert.rejects(placeInstance(db(), id, { shard: MORE }), StartError);
    await assert.rejects(placeInstance(db(), id, { workerId: 999_999 }), StartError);
    await assert.rejects(
      placeInstance(db(), '00000000-0000-4000-8000-000000000000', { shard: 1 }),
      StartError,
    );
    await db().query(`INSERT INTO workers (name, tag, backend_pid) VALUES ('older', '#older', 0)`);
    await assert.rejects(raiseShards(db(), 128), /older runs the release before/);
    assert.equal((await lookAtShards(db())).shards, MORE);
  });
});
