import type { Sql } from '../platform/database/db.ts';
import type { Sample } from '../platform/process/metrics.ts';

/** Pending work of the whole installation, the same in whichever process measures it. */
export interface Backlog {
  /** Accepted and not finished, by the state of the instance. */
  unsent: Sample[];
  /** Age of the oldest of them in seconds, by the state of the instance. */
  unsentOldest: Sample[];
  /** The deepest queues, at most {@link DEEPEST}: a series for each instance would be too many. */
  deepest: Sample[];
  /** Instances by their state and by what their users want. */
  instances: Sample[];
  /** Pending deliveries of webhooks, by whether it is their first attempt. */
  deliveries: Sample[];
}

/** Instances that are named one by one. */
export const DEEPEST = 20;

interface UnsentRow {
  instance_id: string;
  state: string;
  unsent: number;
  oldest_s: number;
}

/** Three statements that read their tables once. Rejects while the database is away. */
export async function measureBacklog(sql: Sql, now: Date): Promise<Backlog> {
  const [queues, instances, deliveries] = await Promise.all([
    sql.query<UnsentRow>(UNSENT, [now]),
    sql.query<{ state: string; wanted: string; count: number }>(INSTANCES),
    sql.query<{ first: number; retries: number }>(DELIVERIES),
  ]);
  const byState = new Map<string, { unsent: number; oldestS: number }>();
  // Always there: an alert on a series that is missing says nothing.
  byState.set('CONNECTED', { unsent: 0, oldestS: 0 });
  for (const { state, unsent, oldest_s } of queues.rows) {
    const sum = byState.get(state) ?? { unsent: 0, oldestS: 0 };
    byState.set(state, { unsent: sum.unsent + unsent, oldestS: Math.max(sum.oldestS, oldest_s) });
  }
  const states = [...byState];
  const { first, retries } = deliveries.rows[0]!;
  return {
    unsent: states.map(([state, { unsent }]) => ({ labels: { state }, value: unsent })),
    unsentOldest: states.map(([state, { oldestS }]) => ({ labels: { state }, value: oldestS })),
    deepest: queues.rows
      .slice(0, DEEPEST)
      .map(({ instance_id, unsent }) => ({ labels: { instance_id }, value: unsent })),
    instances: instances.rows.map(({ state, wanted, count }) => ({
      labels: { state, wanted },
      value: count,
    })),
    deliveries: [
      { labels: { attempt: 'first' }, value: first },
      { labels: { attempt: 'retry' }, value: retries },
    ],
  };
}

// Counts come as bigint, which our driver reads as numbers.
const UNSENT = `
SELECT o.instance_id, coalesce(i.state, 'DELETED') AS state, o.unsent,
  greatest(0, extract(epoch FROM $1::timestamptz - o.oldest))::float8 AS oldest_s
FROM (SELECT instance_id, count(*) AS unsent, min(created_at) AS oldest FROM outbox GROUP BY instance_id) o
LEFT JOIN instances i ON i.id = o.instance_id
ORDER BY o.unsent DESC, o.instance_id`;

const INSTANCES = `SELECT state, wanted, count(*) AS count FROM instances GROUP BY state, wanted`;

const DELIVERIES = `
SELECT count(*) FILTER (WHERE attempts = 0) AS first, count(*) FILTER (WHERE attempts > 0) AS retries
FROM webhook_deliveries`;
