import type { Db } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type Lease, LeaseLost, underLease, underLeases } from './lock-leases.ts';

export interface SessionKeysDeps {
  db: Db;
  cipher: Cipher;
  clock: Clock;
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

/**
 * The keys of one instance's session, sealed one by one as credentials are. Everything happens under the
 * lease of the owner: a write that comes late throws LeaseLost and has written nothing (INS-17), and a read of a
 * worker that lost its shard gets no keys to go on with.
 */
export function createSessionKeys(deps: SessionKeysDeps, scope: Scope): SessionKeys {
  const { db, cipher, clock } = deps;
  const { companyId, instanceId, lease } = scope;
  return {
    async read(kind, ids) {
      const { outcomes, result } = await underLeases(db, [{ lease }], {
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
      const last = lastOfEach(changes);
      const kept = last.filter((change) => change.value !== null);
      const removed = last.filter((change) => change.value === null);
      await underLease(db, lease, async (sql) => {
        for (const [kind, gone] of Map.groupBy(removed, (change) => change.kind)) {
          const values = [instanceId, kind, gone.map(({ id }) => id)];
          await sql.write({ name: 'session-keys-remove', text: REMOVE, values });
        }
        if (kept.length === 0) return;
        const values = [
          instanceId,
          companyId,
          kept.map(({ kind }) => kind),
          kept.map(({ id }) => id),
          kept.map(({ value }) => cipher.seal(value)),
          kept.map(({ temporary }) => (temporary ? clock.now() : null)),
        ];
        await sql.write({ name: 'session-keys-keep', text: KEEP, values });
      });
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
INSERT INTO session_keys (instance_id, company_id, kind, id, sealed, temporary_since)
SELECT $1, $2, one.kind, one.id, one.sealed, one.since
FROM unnest($3::text[], $4::text[], $5::bytea[], $6::timestamptz[]) AS one (kind, id, sealed, since)
WHERE EXISTS (SELECT FROM instances WHERE id = $1 FOR KEY SHARE)
ON CONFLICT (instance_id, kind, id) DO UPDATE SET sealed = excluded.sealed,
  temporary_since = excluded.temporary_since`;

/** The last change of each key, sorted: one statement may not change a row twice. */
function lastOfEach(changes: readonly SessionKey[]): SessionKey[] {
  const last = new Map(changes.map((change) => [`${change.kind} ${change.id}`, change]));
  return [...last].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, change]) => change);
}
