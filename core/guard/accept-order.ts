import type { QueryConfig } from 'pg';
import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import type { Sql } from '../platform/database/db.ts';

/**
 * The statement that holds these instances' accept order until the transaction ends: their outbox rows and
 * their contacts' counts are written by one transaction at a time. Advisory locks, since a row lock would
 * write.
 */
export function acceptOrderLocks(instanceIds: Iterable<string>): QueryConfig {
  const keys = new Set<number>();
  for (const id of instanceIds) keys.add(Number.parseInt(id.slice(-8), 16) | 0);
  return {
    name: 'accept-order-locks',
    text: 'SELECT pg_advisory_xact_lock($1, key) FROM unnest($2::integer[]) AS key',
    // Ascending everywhere: two transactions that share instances never wait for each other in a ring.
    values: [ADVISORY_LOCKS.acceptOrder, [...keys].sort((a, b) => a - b)],
  };
}

/** Takes the same locks within a transaction. */
export async function lockAcceptOrder(client: Sql, instanceIds: Iterable<string>): Promise<void> {
  await client.query(acceptOrderLocks(instanceIds));
}
