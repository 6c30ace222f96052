import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { controlOf } from '../network/sandbox-harness.ts';
import { waitFor } from '../support/process.ts';
import type { System } from '../support/system.ts';
import type { ConnectedInstance } from './traffic.ts';

export interface InboundTraffic {
  /** Messages that the network has taken from phones so far. */
  written(): number;
  /** By instance: network ids in the order of writing. */
  done: Promise<Map<string, string[]>>;
}

const WRITERS = 4;

/** Phones write to the instances, `count` messages in all, over `overMs`. */
export function writeToInstances(
  system: System,
  instances: readonly ConnectedInstance[],
  count: number,
  overMs: number,
): InboundTraffic {
  const control = controlOf(system.sandboxUrl);
  const ids = new Map<string, string[]>(instances.map(({ id }) => [id, []]));
  let written = 0;
  const startedAt = performance.now();

  async function write(first: number): Promise<void> {
    for (let nth = first; nth < count; nth += WRITERS) {
      const waitMs = startedAt + (overMs * nth) / count - performance.now();
      if (waitMs > 0) await delay(waitMs);
      system.stopping.throwIfAborted();
      const instance = instances[nth % instances.length]!;
      const from = `5541${String(nth % 97).padStart(9, '0')}`;
      const answer = await control.post(`/phones/${from}/messages`, {
        to: instance.phone,
        text: `in ${nth}`,
      });
      ids.get(instance.id)!.push(answer.id);
      written += 1;
    }
  }

  const done = Promise.all(Array.from({ length: WRITERS }, (_, i) => write(i))).then(() => ids);
  // A test that failed before it waited for this needs no second error.
  done.catch(() => undefined);
  return { written: () => written, done };
}

/** The proof: every message of a phone is stored once and causes one event, and nothing else does. */
export async function proveInboundOnce(
  system: System,
  expected: Map<string, string[]>,
  timeoutMs = 180_000,
): Promise<void> {
  const control = controlOf(system.sandboxUrl);
  await waitFor(
    async () => {
      const { accounts } = await control.get('/sessions');
      return accounts.every((account: { unacked_events: number }) => account.unacked_events === 0);
    },
    timeoutMs,
    { what: 'the network has nothing left that is not acknowledged', everyMs: 500 },
  );
  await proveStoredOnce(system, expected);
}

/**
 * The same, when the network has nothing left: each message is stored once and causes one event, and nothing else does.
 */
export async function proveStoredOnce(
  system: System,
  expected: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const total = [...expected.values()].reduce((sum, ids) => sum + ids.length, 0);
  const instanceIds = [...expected.keys()];
  const stored = await system.db.query<{ instance_id: string; network_id: string }>(
    `SELECT instance_id, network_id FROM messages WHERE direction = 'inbound' AND instance_id = ANY ($1::uuid[])`,
    [instanceIds],
  );
  const missing = new Set([...expected].flatMap(([id, ids]) => ids.map((networkId) => `${id} ${networkId}`)));
  for (const row of stored.rows) missing.delete(`${row.instance_id} ${row.network_id}`);
  assert.deepEqual([...missing].slice(0, 5), [], `${missing.size} of ${total} received messages are lost`);
  assert.equal(stored.rows.length, total, 'none is stored twice');
  const told = await system.db.query<{ n: number; distinct: number }>(
    `SELECT count(*)::integer AS n, count(DISTINCT data->'message_ids'->>0)::integer AS distinct
     FROM events WHERE type = 'message.received' AND instance_id = ANY ($1::uuid[])`,
    [instanceIds],
  );
  assert.deepEqual(told.rows[0], { n: total, distinct: total }, 'message.received is logged once a message');
}

/** Every receipt of sent messages is recorded once: the phones received and read all of them. */
export async function proveReceiptsOnce(system: System, accepted: Map<string, string[]>): Promise<void> {
  const total = [...accepted.values()].reduce((sum, ids) => sum + ids.length, 0);
  const counts = async (type: string) => {
    const { rows } = await system.db.query<{ n: number; distinct: number }>(
      `SELECT count(*)::integer AS n, count(DISTINCT data->'message_ids'->>0)::integer AS distinct
       FROM events WHERE type = $1 AND instance_id = ANY ($2::uuid[])`,
      [type, [...accepted.keys()]],
    );
    return rows[0]!;
  };
  await waitFor(async () => (await counts('message.read')).n >= total, 60_000, {
    what: `${total} messages are read`,
  }).catch(() => undefined);
  assert.deepEqual(
    await counts('message.read'),
    { n: total, distinct: total },
    'message.read once a message',
  );
}
