import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { noteNew } from './endpoint-room.ts';
import { ACTIVE_MS, type createEndpoints, ID_MARGIN } from './endpoints.ts';
import { findAllDue, findNewlyDue } from './find-due.ts';

const SCAN_MS = 1_000;
/** Minimum time between two looks for endpoints with new deliveries. */
const DISCOVER_MS = 20;
/**
 * With more active endpoints than this, a query for those with work is cheaper than claiming for all of them.
 */
const GUESSED_MAX = 64;

export interface FindWorkDeps {
  db: Db;
  clock: Clock;
  log: Log;
  endpoints: ReturnType<typeof createEndpoints>;
  /** Endpoints were marked as having work. */
  onFound(): void;
}

/** Marks the endpoints that have work: on notifications, when a retry is due, and by scanning all of them. */
export interface WorkFinder {
  /** There are new deliveries; the notification does not say for which endpoints. */
  onNew(): void;
  /** Retries were made due immediately, or deliveries that waited for their company. */
  onRetries(): void;
  /** A retry was scheduled: this process knows its time, so the scan need not find it. */
  onRetryAt(atMs: number): void;
  /** A claim returned this delivery: higher ids are new. */
  sawId(id: number): void;
  /** Must resolve before {@link start}. Rejects if the database is not there. */
  prepare(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export function createWorkFinder(deps: FindWorkDeps): WorkFinder {
  const { clock, log, endpoints } = deps;
  let highestId = 0;
  let fullScanAtMs = 0;
  let scanAtMs = Number.POSITIVE_INFINITY;
  let discovering: Loop | null = null;
  let scanning: Loop | null = null;

  function sawId(id: number): void {
    if (id > highestId) highestId = id;
  }

  /** Finds the endpoints that got deliveries recently. */
  async function discover(): Promise<void> {
    const found = await findNewlyDue(deps.db, Math.max(0, highestId - ID_MARGIN));
    sawId(found.highestId);
    for (const each of found.endpoints) noteNew(endpoints.get(each.webhookId, each.companyId));
    if (found.endpoints.length > 0) deps.onFound();
  }

  /** Finds work that no notification announced, and wakes the claims when a retry is due. */
  async function lookAtAll(): Promise<void> {
    const nowMs = clock.now().getTime();
    if (nowMs >= fullScanAtMs) {
      // Set before the scan: a request made while it runs must not count as served by it.
      fullScanAtMs = Number.POSITIVE_INFINITY;
      const nextAtMs = nowMs + (await scan(deps));
      fullScanAtMs = Math.min(fullScanAtMs, nextAtMs);
    }
    scanAtMs = nextLookMs(endpoints, fullScanAtMs, nowMs);
    deps.onFound();
  }

  function start(): void {
    discovering = startLoop({
      everyMs: Number.POSITIVE_INFINITY,
      gapMs: DISCOVER_MS,
      waitsFirst: true,
      run: discover,
      // The scan finds them a second later.
      onError: (err) => log.warn({ err }, 'looking for new webhook deliveries failed'),
    });
    scanning = startLoop({
      clock,
      everyMs: () => Math.max(1, scanAtMs - clock.now().getTime()),
      run: lookAtAll,
      onError(err) {
        log.warn({ err }, 'looking for due webhook deliveries failed, trying again');
        scanAtMs = clock.now().getTime() + SCAN_MS;
        fullScanAtMs = scanAtMs;
      },
    });
  }

  return {
    onNew() {
      if (guessActive(endpoints)) deps.onFound();
      discovering?.wake();
    },
    onRetries() {
      fullScanAtMs = 0;
      scanning?.wake();
    },
    onRetryAt(atMs) {
      if (atMs < scanAtMs) scanning?.wake();
    },
    sawId,
    async prepare() {
      const { rows } = await deps.db.query<{ highest: number }>(
        `SELECT coalesce(max(id), 0) AS highest FROM webhook_deliveries`,
      );
      sawId(rows[0]!.highest);
    },
    start,
    async stop() {
      await Promise.all([discovering?.stop(), scanning?.stop()]);
    },
  };
}

/** The time of the next look: the full scan, or an earlier retry. Ms of the clock. */
function nextLookMs(endpoints: FindWorkDeps['endpoints'], fullScanAtMs: number, nowMs: number): number {
  let nextMs = fullScanAtMs;
  for (const { retryAtMs } of endpoints.all.values())
    if (retryAtMs !== null && retryAtMs > nowMs && retryAtMs < nextMs) nextMs = retryAtMs;
  return nextMs;
}

/**
 * The few endpoints that had work a moment ago probably have more: claim for them without a query. False: too
 * many.
 */
function guessActive(endpoints: FindWorkDeps['endpoints']): boolean {
  const activeSince = performance.now() - ACTIVE_MS;
  const active = [...endpoints.all.values()].filter(({ activeAtMs }) => activeAtMs > activeSince);
  if (active.length > GUESSED_MAX) return false;
  for (const endpoint of active) endpoint.moreFresh = true;
  return true;
}

/**
 * Returns how long to wait before the next scan: scanning ten thousand endpoints takes a tenth of a second.
 */
async function scan({ db, endpoints }: FindWorkDeps): Promise<number> {
  const startedAt = performance.now();
  const retriesBefore = new Map([...endpoints.all].map(([id, { retryAtMs }]) => [id, retryAtMs]));
  for (const due of await findAllDue(db)) {
    const endpoint = endpoints.get(due.webhookId, due.companyId);
    // An attempt failed during the scan: its delivery may have been read as due, before the result was recorded.
    const hasNewRetry =
      endpoint.retryAtMs !== null && endpoint.retryAtMs !== retriesBefore.get(due.webhookId);
    if (due.retryAt === null) {
      endpoint.moreFresh = true;
      endpoint.freshFromId = 0;
    } else {
      endpoint.aheadFromId = 0;
      if (!hasNewRetry) endpoint.retryAtMs = due.retryAt.getTime();
    }
  }
  endpoints.forgetIdle({ monotonicMs: performance.now() });
  return Math.max(SCAN_MS, (performance.now() - startedAt) * 20);
}
