import { type Coalescer, createCoalescer } from '../platform/database/coalesce.ts';
import type { Db, Transaction } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type Lease, LeaseLost, type Recorded, underLease, underLeases } from './lock-leases.ts';

export interface SessionKeysDeps {
  db: Db;
  cipher: Cipher;
  keyWriter: SessionKeyWriter;
}

/** Something that a session remembers, under a kind and an id: any JSON value, or null to remove it. */
interface SessionKey {
  kind: string;
  id: string;
  value: unknown;
  /** May be forgotten after 30 days. */
  temporary?: boolean;
}

/** See the port of the networks, which this implements (`core/network/driver.ts`). */
interface SessionKeys {
  read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>>;
  write(changes: readonly SessionKey[]): Promise<void>;
  clear(): Promise<void>;
}

interface Scope {
  companyId: number;
  instanceId: string;
  lease: Lease;
}

/** The keys that one session writes at once: all of them are stored, or none. */
interface KeyWrite extends Scope {
  changes: readonly SessionKey[];
}

export type SessionKeyWriter = Coalescer<KeyWrite, Recorded>;

/** Sessions in one transaction: one may write a thousand keys, as after a pairing. */
const WRITES_MAX = 16;

/**
 * Writes the keys of a worker's sessions, those of many in one transaction: each text that a session sends waits for one. A write
 * whose lease has passed is rejected with LeaseLost, and one that the database refuses costs no other session anything.
 */
export function createSessionKeyWriter(deps: { db: Db; cipher: Cipher; clock: Clock }): SessionKeyWriter {
  return createCoalescer<KeyWrite, Recorded>({
    maxBatch: WRITES_MAX,
    async run(batch) {
      const { outcomes } = await underLeases(deps.db, batch, {
        read: async () => undefined,
        work: (sql, current) => writeKeys(deps, sql, current),
      });
      return outcomes;
    },
  });
}

async function writeKeys(
  { cipher, clock }: { cipher: Cipher; clock: Clock },
  sql: Transaction,
  writes: readonly KeyWrite[],
): Promise<void> {
  const last = lastOfEach(writes);
  const removed = last.filter(({ change }) => change.value === null);
  const kept = last.filter(({ change }) => change.value !== null);
  const kindOf = ({ write, change }: Change) => `${write.instanceId} ${change.kind}`;
  for (const gone of Map.groupBy(removed, kindOf).values()) {
    const [{ write, change }] = gone as [Change];
    const values = [write.instanceId, change.kind, gone.map((each) => each.change.id)];
    await sql.write({ name: 'session-keys-remove', text: REMOVE, values });
  }
  if (kept.length === 0) return;
  const now = clock.now();
  const values = [
    [...new Set(kept.map(({ write }) => write.instanceId))],
    kept.map(({ write }) => write.instanceId),
    kept.map(({ write }) => write.companyId),
    kept.map(({ change }) => change.kind),
    kept.map(({ change }) => change.id),
    kept.map(({ change }) => cipher.seal(change.value)),
    kept.map(({ change }) => (change.temporary ? now : null)),
  ];
  await sql.write({ name: 'session-keys-keep', text: KEEP, values });
}

/**
 * The keys of one instance's session, sealed one by one as credentials are. All reads and writes happen under the
 * owner's lease: a late write throws LeaseLost and has written nothing (INS-17), and a worker that lost its shard can
 * read no keys.
 */
export function createSessionKeys(deps: SessionKeysDeps, scope: Scope): SessionKeys {
  const { db, cipher, keyWriter } = deps;
  const { instanceId, lease } = scope;
  return {
    async read(kind, ids) {
      const { outcomes, result } = await underLeases(db, [scope], {
        read: (sql) =>
          sql.query<{ id: string; sealed: Buffer }>({
            name: ids ? 'session-keys-read' : 'session-keys-read-all',
            text: `SELECT id, sealed FROM session_keys
                   WHERE instance_id = $1 AND kind = $2 ${ids ? 'AND id = ANY ($3::text[])' : ''}`,
            values: ids ? [instanceId, kind, ids] : [instanceId, kind],
          }),
        work: async (_sql, _current, { rows }) => rows,
      });
      if (outcomes[0] instanceof LeaseLost) throw outcomes[0];
      const rows = result ?? [];
      return new Map(rows.map((row) => [row.id, cipher.open(row.sealed)]));
    },

    async write(changes) {
      await keyWriter.push({ ...scope, changes });
    },

    async clear() {
      await underLease(db, lease, (sql) =>
        sql.query('DELETE FROM session_keys WHERE instance_id = $1', [instanceId]),
      );
    },
  };
}

/** Kind by kind: joined with a list of kinds and ids, all keys of the instance were read (3 ms for 12 rows). */
const REMOVE = 'DELETE FROM session_keys WHERE instance_id = $1 AND kind = $2 AND id = ANY ($3::text[])';

/**
 * In one order always, so that no two writes wait for each other's rows. An instance that was deleted meanwhile leaves
 * nothing behind.
 */
const KEEP = `
WITH known AS MATERIALIZED (SELECT id FROM instances WHERE id = ANY ($1::uuid[]) ORDER BY id FOR KEY SHARE)
INSERT INTO session_keys (instance_id, company_id, kind, id, sealed, temporary_since)
SELECT one.instance_id, one.company_id, one.kind, one.id, one.sealed, one.since
FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[], $6::bytea[], $7::timestamptz[])
  AS one (instance_id, company_id, kind, id, sealed, since)
WHERE one.instance_id = ANY (ARRAY(SELECT id FROM known))
ON CONFLICT (instance_id, kind, id) DO UPDATE SET sealed = excluded.sealed,
  temporary_since = excluded.temporary_since`;

interface Change {
  write: KeyWrite;
  change: SessionKey;
}

/** The last change of each key, sorted: one statement may not change a row twice. */
function lastOfEach(writes: readonly KeyWrite[]): Change[] {
  const last = new Map<string, Change>();
  for (const write of writes)
    for (const change of write.changes)
      last.set(`${write.instanceId} ${change.kind} ${change.id}`, { write, change });
  return [...last].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, change]) => change);
}
