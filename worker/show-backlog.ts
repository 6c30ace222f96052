import { type Backlog, measureBacklog } from '@posthorn/core/operations/measure-backlog.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';

/** Several figures of one scrape, and several who scrape, share one measurement. */
const KEPT_MS = 5_000;
/** However large the backlog is, measuring it takes at most a twentieth of one connection's time. */
const REST = 20;

/**
 * Shows the backlog of the installation in /metrics. Every worker tells the same, so that it is told as long as one is there:
 * read it with `max`, not with `sum`.
 */
export function showBacklog({ db, clock, metrics }: { db: Db; clock: Clock; metrics: Metrics }): void {
  let measured: Promise<Backlog> | null = null;
  let untilMs = 0;

  function measure(): Promise<Backlog> {
    if (measured && performance.now() < untilMs) return measured;
    const sinceMs = performance.now();
    untilMs = Number.POSITIVE_INFINITY;
    measured = measureBacklog(db, clock.now()).finally(() => {
      const nowMs = performance.now();
      untilMs = nowMs + Math.max(KEPT_MS, (nowMs - sinceMs) * REST);
    });
    return measured;
  }

  const show = (name: string, help: string, figure: keyof Backlog) =>
    metrics.gauges(name, help, async () => (await measure())[figure]);
  show('posthorn_unsent_messages', 'Accepted and unfinished sends, by the state of their instance', 'unsent');
  show('posthorn_unsent_oldest_seconds', 'Age of the oldest of them', 'unsentOldest');
  show('posthorn_instance_unsent_messages', 'Unfinished sends of the instances with the most', 'deepest');
  show('posthorn_instances', 'Instances by their state and by what their users want', 'instances');
  show('posthorn_webhook_deliveries_waiting', 'Deliveries that are still to be made', 'deliveries');
}
