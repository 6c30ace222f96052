import type pg from 'pg';
import type { Metrics } from '../process/metrics.ts';

/**
 * Shows in /metrics the connections that a pool holds, how often and for how long its users wait for one, and which
 * connections were lost. A user who finds a free connection pays one comparison.
 */
export function watchPool(pool: pg.Pool, { metrics, name }: { metrics: Metrics; name: string }): void {
  const labels = { pool: name };
  const state = (value: string) => ({ ...labels, state: value });
  const help = 'Connections to the database that a pool holds';
  metrics.gauge('posthorn_pool_connections', help, () => pool.totalCount - pool.idleCount, state('used'));
  metrics.gauge('posthorn_pool_connections', help, () => pool.idleCount, state('idle'));
  metrics.gauge(
    'posthorn_pool_size',
    'Most connections that a pool may hold',
    () => pool.options.max,
    labels,
  );
  metrics.gauge('posthorn_pool_waiting', 'Waiting for a connection now', () => pool.waitingCount, labels);
  const countWait = metrics.counter(
    'posthorn_pool_waits_total',
    'Waits for a connection of a full pool',
    labels,
  );
  const addSeconds = metrics.counter(
    'posthorn_pool_wait_seconds_total',
    'Time spent waiting for a connection of a full pool',
    labels,
  );
  const onLost = reconnectCounter(metrics, 'database');
  pool.on('error', () => {
    if (!pool.ending) onLost();
  });

  const connect = pool.connect.bind(pool) as (callback?: Callback) => Promise<pg.PoolClient>;
  pool.connect = ((callback?: Callback) => {
    if (pool.idleCount > 0 || pool.totalCount < pool.options.max) return connect(callback);
    const sinceMs = performance.now();
    const end = () => {
      countWait();
      addSeconds((performance.now() - sinceMs) / 1000);
    };
    if (!callback) return connect().finally(end);
    return connect((...answer) => {
      end();
      callback(...answer);
    });
  }) as pg.Pool['connect'];
}

type Callback = (err: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

/** Counts connections that were lost and have to be made anew. */
export function reconnectCounter(
  metrics: Metrics | undefined,
  connection: 'broker' | 'database' | 'notifications',
): () => void {
  const count = metrics?.counter('posthorn_reconnects_total', 'Connections that were lost and made anew', {
    connection,
  });
  return () => count?.();
}
