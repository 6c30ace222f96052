import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { controlOf } from '../network/sandbox-harness.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import type { System } from '../support/system.ts';

export interface ConnectedInstance {
  id: string;
  /** The number it is paired with. */
  phone: string;
}

export async function connectInstances(
  system: System,
  count: number,
): Promise<{ company: SeededCompany; instances: ConnectedInstance[] }> {
  const company = await seedCompany(system.db);
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    ids.push(
      await seedInstance(system.db, company.companyId, {
        state: 'CREATED',
        wanted: 'connected',
        settings: { humanize_enabled: false },
      }),
    );
  }
  const instances = await waitFor(
    async () => {
      const found = await system.db.query<ConnectedInstance>(
        `SELECT id, phone FROM instances WHERE id = ANY ($1::uuid[]) AND state = 'CONNECTED' ORDER BY id`,
        [ids],
      );
      return found.rows.length === count && found.rows;
    },
    120_000,
    { what: `${count} instances are connected` },
  );
  return { company, instances };
}

export interface Traffic {
  /** Messages accepted so far, over all instances. */
  accepted(): number;
  /** Answers other than 202, by status or error. */
  refusals: Map<string, number>;
  /** The longest time that one request took until its 202, its retries included. */
  slowestMs(): number;
  /** By instance: message ids in the order of their 202s. Resolves when all are accepted. */
  done: Promise<Map<string, string[]>>;
}

/**
 * One sender for each instance, which waits for its 202 before the next send and repeats the same key and body until it
 * comes: the order of its 202s is the accept order. A refusal that a repeat cannot change rejects `done`.
 */
export function sendTexts(
  system: Pick<System, 'urls' | 'stopping'>,
  company: Pick<SeededCompany, 'apiKey'>,
  instances: readonly ConnectedInstance[],
  perInstance: number,
  /**
   * A pause after each 202, so that the sending lasts as long as the faults do: in ms, or a promise to wait for after
   * the nth.
   */
  pause: number | ((nth: number) => Promise<unknown>) = 0,
): Traffic {
  let accepted = 0;
  let slowestMs = 0;
  const refusals = new Map<string, number>();
  const ids = new Map<string, string[]>(instances.map((instance) => [instance.id, []]));

  async function sendOne(instance: ConnectedInstance, nth: number): Promise<void> {
    const key = randomUUID();
    // At most two messages a contact, so that the guard, which is on, lets them pass.
    const to = `5531${String(instances.indexOf(instance) * 100_000 + Math.floor(nth / 2)).padStart(9, '0')}`;
    const startedAt = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      system.stopping.throwIfAborted();
      const url = system.urls[(nth + attempt) % system.urls.length];
      const answer = await fetch(`${url}/v1/instances/${instance.id}/messages/text`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': company.apiKey, 'idempotency-key': key },
        body: JSON.stringify({ to, text: `message ${nth}` }),
        signal: AbortSignal.timeout(15_000),
      }).then(
        async (response) => ({
          status: response.status,
          body: (await response.json()) as Record<string, string>,
        }),
        (err: Error) => ({ status: 0, body: { error_code: err.name } as Record<string, string> }),
      );
      if (answer.status === 202) {
        ids.get(instance.id)?.push(answer.body.message_id!);
        accepted += 1;
        slowestMs = Math.max(slowestMs, performance.now() - startedAt);
        return;
      }
      const refusal = `${answer.status} ${answer.body.error_code}`;
      if (isFinal(answer.status, answer.body.error_code))
        throw new Error(`send ${nth} of instance ${instance.id} was refused for good: ${refusal}`);
      refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
      await delay(50);
    }
  }

  const done = Promise.all(
    instances.map(async (instance) => {
      for (let nth = 0; nth < perInstance; nth += 1) {
        await sendOne(instance, nth);
        if (typeof pause === 'function') await pause(nth);
        else if (pause > 0) await delay(pause);
      }
    }),
  ).then(() => ids);
  // A test that failed before it waited for this needs no second error.
  done.catch(() => undefined);
  return { accepted: () => accepted, refusals, slowestMs: () => slowestMs, done };
}

/** By instance: the messages that were accepted first, then those that were accepted later. */
export function merge(
  first: ReadonlyMap<string, string[]>,
  later: ReadonlyMap<string, string[]>,
): Map<string, string[]> {
  return new Map([...first].map(([id, ids]) => [id, [...ids, ...(later.get(id) ?? [])]]));
}

/** The same send would be refused again, whatever recovers meanwhile. */
function isFinal(status: number, code: string | undefined): boolean {
  return status >= 400 && status < 500 && ![408, 429].includes(status) && code !== 'INSTANCE_NOT_CONNECTED';
}

interface LedgerEntry {
  seq: number;
  network_id: string;
  times_seen: number;
}

async function readLedger(system: System, from: string): Promise<LedgerEntry[]> {
  const control = controlOf(system.sandboxUrl);
  const entries: LedgerEntry[] = [];
  for (let after = 0; ; ) {
    const page = await control.get(`/ledger?from=${from}&after=${after}&limit=1000`);
    entries.push(...page.entries);
    if (!page.next_after) return entries;
    after = page.next_after;
  }
}

/**
 * The proof: every accepted message is in the network's ledger once and in accept order, and every event of it is in
 * the log once. When several senders were accepted side by side, each has its own order. Returns how many repeats the
 * network dropped.
 */
export async function proveExactlyOnce(
  system: System,
  instances: readonly ConnectedInstance[],
  accepted: ReadonlyMap<string, string[]> | readonly ReadonlyMap<string, string[]>[],
  timeoutMs = 120_000,
): Promise<{ repeatsDropped: number }> {
  const senders = [accepted].flat();
  const all = senders.flatMap((each) => [...each.values()].flat());
  const total = all.length;
  assert.equal(new Set(all).size, total, 'each 202 names a message of its own');
  await waitFor(
    async () => {
      const events = await system.db.query<{ n: number }>(
        `SELECT count(*)::integer AS n FROM events WHERE type = 'message.delivered' AND instance_id = ANY ($1::uuid[])`,
        [instances.map((instance) => instance.id)],
      );
      return events.rows[0]!.n >= total;
    },
    timeoutMs,
    { what: `${total} messages are delivered`, everyMs: 200 },
  );
  let repeatsDropped = 0;
  for (const instance of instances) {
    const ledger = await readLedger(system, instance.phone);
    repeatsDropped += ledger.reduce((sum, entry) => sum + entry.times_seen - 1, 0);
    const sent = senders.map((each) => (each.get(instance.id) ?? []).map(ledgerIdOf));
    for (const ids of sent) {
      const own = new Set(ids);
      assert.deepEqual(
        ledger.map((entry) => entry.network_id).filter((id) => own.has(id)),
        ids,
        `the ledger of ${instance.id} holds what was accepted, in order`,
      );
    }
    assert.equal(ledger.length, sent.flat().length, `the ledger of ${instance.id} holds nothing else`);
  }
  for (const type of ['message.sent', 'message.delivered']) {
    const logged = await system.db.query<{ n: number; distinct: number }>(
      `SELECT count(*)::integer AS n, count(DISTINCT data->'message_ids'->>0)::integer AS distinct
       FROM events WHERE type = $1 AND instance_id = ANY ($2::uuid[])`,
      [type, instances.map((instance) => instance.id)],
    );
    assert.deepEqual(logged.rows[0], { n: total, distinct: total }, `${type} is logged once a message`);
  }
  const left = await system.db.query<{ n: number }>('SELECT count(*)::integer AS n FROM outbox');
  assert.equal(left.rows[0]?.n, 0, 'no task is left');
  return { repeatsDropped };
}

function ledgerIdOf(messageId: string): string {
  return messageId.replaceAll('-', '').toUpperCase();
}

/** The usage counters (INS-21) equal the numbers of sent and delivered messages exactly. */
export async function proveUsage(
  system: System,
  company: SeededCompany,
  accepted: Map<string, string[]>,
): Promise<void> {
  for (const [instanceId, { length }] of accepted) {
    const answer = await fetch(`${system.urls[0]}/v1/instances/${instanceId}/usage`, {
      headers: { 'x-api-key': company.apiKey },
    });
    assert.equal(answer.status, 200);
    assert.deepEqual(await answer.json(), {
      messages_today: length,
      messages_sent_today: length,
      messages_received_today: 0,
      delivered_today: length,
      failed_today: 0,
    });
  }
}

/** No account ever had two sessions at one moment. */
export async function proveOneSessionEach(system: System): Promise<void> {
  const { accounts } = await controlOf(system.sandboxUrl).get('/sessions');
  assert.ok(accounts.length > 0);
  for (const account of accounts) {
    assert.ok(account.max_live <= 1, `two sessions at once: ${JSON.stringify(account)}`);
  }
}
