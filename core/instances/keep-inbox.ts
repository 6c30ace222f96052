import type { Db } from '../platform/database/db.ts';
import { ownedSql } from '../platform/database/paging.ts';
import { type Lease, underLease } from './lock-leases.ts';

/** See the port of the networks, which this implements (`core/network/driver.ts`). */
interface Inbox {
  next(limit: number, except: readonly string[]): Promise<{ id: string; body: Uint8Array }[]>;
  done(ids: readonly string[]): Promise<void>;
}

/** Bodies are up to 3 MB: a round stays well below what a worker has. */
const ROUND_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Posts of a network for one instance, as the API stored them (`core/cloud/take-webhook.ts`). All reads and deletes
 * happen under the owner's lease: a worker that has lost the shard hands over nothing.
 */
export function createInbox(db: Db, { instanceId, lease }: { instanceId: string; lease: Lease }): Inbox {
  return {
    async next(limit, except) {
      const { rows } = await underLease(db, lease, (sql) =>
        sql.query<{ id: string; body: Buffer }>({
          name: 'network-inbox-next',
          text: `SELECT id::text, body FROM (
                   SELECT id, body, sum(length(body)) OVER (ORDER BY id) - length(body) AS before
                   FROM (SELECT id, body FROM network_inbox
                         WHERE ${ownedSql('instance_id', '$1')} AND id <> ALL ($4::bigint[])
                         ORDER BY instance_id, id LIMIT $2) AS oldest
                 ) AS waiting WHERE before < $3 ORDER BY waiting.id`,
          values: [instanceId, limit, ROUND_MAX_BYTES, except],
        }),
      );
      return rows;
    },
    async done(ids) {
      await underLease(db, lease, (sql) =>
        sql.query({
          name: 'network-inbox-done',
          text: 'DELETE FROM network_inbox WHERE instance_id = $1 AND id = ANY ($2::bigint[])',
          values: [instanceId, ids],
        }),
      );
    },
  };
}
