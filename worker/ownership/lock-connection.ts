import { ClusterClient } from '@posthorn/core/platform/database/cluster-client.ts';
import {
  connectionWith,
  KEEP_ALIVE,
  KEEP_ALIVE_SETTINGS,
} from '@posthorn/core/platform/database/connection-limits.ts';
import { pgTypes, type Sql } from '@posthorn/core/platform/database/db.ts';

/** A longer statement means that the database, or the connection to it, is gone. */
const ANSWER_MS = 3_000;
/** A shard whose former owner is still writing is retried in the next round. */
const LOCK_MS = 1_000;

/** Runs one statement at a time: heartbeats and shard statements. */
export interface LockConnection extends Sql {
  /** Never rejects. Ending the connection frees all its locks. */
  end(): Promise<void>;
}

/**
 * The one connection that holds a worker's locks and sends its heartbeats. Its statements are short, so that
 * a heartbeat never waits long.
 */
export async function connectForLocks(
  deps: { databaseUrl: string; name: string },
  onEnd: (connection: LockConnection) => void,
): Promise<LockConnection> {
  const client = new ClusterClient({
    ...connectionWith(deps.databaseUrl, [
      `-c statement_timeout=${ANSWER_MS}`,
      `-c lock_timeout=${LOCK_MS}`,
      `-c idle_in_transaction_session_timeout=${ANSWER_MS}`,
      ...KEEP_ALIVE_SETTINGS,
    ]),
    application_name: deps.name,
    types: pgTypes,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    ...KEEP_ALIVE,
  });
  let last: Promise<unknown> = Promise.resolve();
  const connection: LockConnection = {
    query(query, values) {
      const answer = last.then(() => client.query(query as string, values));
      last = answer.catch(() => undefined);
      return answer as never;
    },
    end: () => client.end().catch(() => undefined),
  };
  client.on('error', () => onEnd(connection));
  client.on('end', () => onEnd(connection));
  await client.connect();
  return connection;
}
