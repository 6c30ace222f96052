import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { findAllDue, findNewlyDue } from '@posthorn/core/webhooks/delivery/find-due.ts';
import { ACTIVE_MS, type createEndpoints, ID_MARGIN } from './endpoints.ts';

const SCAN_MS = 1_000;
const DISCOVER_MS = 20;
/** With more active endpoints than this, asking which have work is cheaper than asking all of them for it. */
const GUESSED_MAX = 64;

export interface FindWorkDeps {
  db: Db;
  clock: Clock;
  log: Log;
  endpoints: ReturnType<typeof createEndpoints>;
  /** Endpoints were marked as having work. */
  onFound(): void;
}

/** Marks the endpoints that have work: at a hint, when a retry falls due, and by looking at all of them. */
export function createWorkFinder(deps: FindWorkDeps) {
  const { db, clock, log, endpoints } = deps;
  let highestId = 0;
  let discoveredAt = 0;
  let hinted = false;
  let discovering: Promise<void> | null = null;
  let discoverTimer: NodeJS.Timeout | null = null;
  let wakeScan = new AbortController();
  let scanAtMs = Number.POSITIVE_INFINITY;
  let fullScanAtMs = 0;
  let stopped = false;

  /** Which endpoints got deliveries lately, at most once in {@link DISCOVER_MS}. */
  function discover(): void {
    hinted = true;
    if (stopped || discovering || discoverTimer) return;
    const waitMs = discoveredAt + DISCOVER_MS - performance.now();
    if (waitMs > 0) {
      discoverTimer = setTimeout(() => {
        discoverTimer = null;
        discover();
      }, waitMs);
      return;
    }
    hinted = false;
    discovering = findNewlyDue(db, Math.max(0, highestId - ID_MARGIN))
      .then((found) => {
        sawId(found.highestId);
        for (const { webhookId, companyId } of found.endpoints) {
          const endpoint = endpoints.get(webhookId, companyId);
          endpoint.moreFresh = true;
          endpoint.activeAtMs = performance.now();
        }
        if (found.endpoints.length > 0) deps.onFound();
      })
      // The scan finds them a second later.
      .catch((err) => log.warn({ err }, 'looking for new webhook deliveries failed'))
      .finally(() => {
        discovering = null;
        discoveredAt = performance.now();
        if (hinted) discover();
      });
  }

  function sawId(id: number): void {
    if (id > highestId) highestId = id;
  }

  /** Finds what no hint told of, and wakes the claims when a retry falls due. */
  async function scanLoop(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      // Before the scan: what is hinted while it runs must not be taken for seen by it.
      wakeScan = new AbortController();
      const wake = AbortSignal.any([stopping, wakeScan.signal]);
      try {
        const nowMs = clock.now().getTime();
        if (nowMs >= fullScanAtMs) {
          fullScanAtMs = Number.POSITIVE_INFINITY;
          const nextAtMs = nowMs + (await scan());
          fullScanAtMs = Math.min(fullScanAtMs, nextAtMs);
        }
        scanAtMs = fullScanAtMs;
        for (const { retryAtMs } of endpoints.all.values())
          if (retryAtMs !== null && retryAtMs > nowMs && retryAtMs < scanAtMs) scanAtMs = retryAtMs;
        deps.onFound();
      } catch (err) {
        log.warn({ err }, 'looking for due webhook deliveries failed, trying again');
        scanAtMs = clock.now().getTime() + SCAN_MS;
        fullScanAtMs = scanAtMs;
      }
      try {
        await clock.sleep(Math.max(1, scanAtMs - clock.now().getTime()), wake);
      } catch {
        // Woken early.
      }
    }
  }

  /** Returns when to scan again: a scan of ten thousand endpoints takes a tenth of a second. */
  async function scan(): Promise<number> {
    const startedAt = performance.now();
    for (const due of await findAllDue(db)) {
      const endpoint = endpoints.get(due.webhookId, due.companyId);
      if (due.retryAt === null) {
        endpoint.moreFresh = true;
        endpoint.freshFromId = 0;
      } else endpoint.retryAtMs = due.retryAt.getTime();
    }
    endpoints.forgetIdle({ monotonicMs: performance.now() });
    return Math.max(SCAN_MS, (performance.now() - startedAt) * 20);
  }

  return {
    /** There are new deliveries, of whom the hint does not say. */
    onNew(): void {
      const activeSince = performance.now() - ACTIVE_MS;
      const active = [...endpoints.all.values()].filter(({ activeAtMs }) => activeAtMs > activeSince);
      // The few that had work a moment ago likely have it again: claimed for without asking which.
      if (active.length <= GUESSED_MAX) {
        for (const endpoint of active) endpoint.moreFresh = true;
        deps.onFound();
      }
      discover();
    },
    /** Retries were made due at once, or what has waited for its company. */
    onRetries(): void {
      fullScanAtMs = 0;
      wakeScan.abort();
    },
    /** A retry was scheduled: the scan need not find what this process knows. */
    onRetryAt(atMs: number): void {
      if (atMs < scanAtMs) wakeScan.abort();
    },
    /** A claim brought this delivery: what comes after it is new. */
    sawId,
    /** To be awaited before {@link run}. Rejects when the database is not there. */
    async prepare(): Promise<void> {
      const { rows } = await db.query<{ highest: number }>(
        `SELECT coalesce(max(id), 0) AS highest FROM webhook_deliveries`,
      );
      sawId(rows[0]!.highest);
    },
    /** Resolves once it has stopped; never rejects. */
    async run(stopping: AbortSignal): Promise<void> {
      await scanLoop(stopping);
      stopped = true;
      if (discoverTimer) clearTimeout(discoverTimer);
      while (discovering) await discovering;
    },
  };
}
