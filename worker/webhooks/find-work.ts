import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { noteNew } from './endpoint-room.ts';
import { ACTIVE_MS, type createEndpoints, ID_MARGIN } from './endpoints.ts';
import { findAllDue, findNewlyDue } from './find-due.ts';

const SCAN_MS = 1_000;
/** The least time between two looks at which endpoints got deliveries. */
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

/** Marks the endpoints that have work: when notified, when a retry falls due, and by looking at all of them. */
export interface WorkFinder {
  /** There are new deliveries, of whom the notification does not say. */
  onNew(): void;
  /** Retries were made due at once, or what has waited for its company. */
  onRetries(): void;
  /** A retry was scheduled: the scan need not find what this process knows. */
  onRetryAt(atMs: number): void;
  /** A claim brought this delivery: what comes after it is new. */
  sawId(id: number): void;
  /** To be awaited before {@link start}. Rejects when the database is not there. */
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

  /** Which endpoints got deliveries lately. */
  async function discover(): Promise<void> {
    const found = await findNewlyDue(deps.db, Math.max(0, highestId - ID_MARGIN));
    sawId(found.highestId);
    for (const each of found.endpoints) noteNew(endpoints.get(each.webhookId, each.companyId));
    if (found.endpoints.length > 0) deps.onFound();
  }

  /** Finds what no notification told of, and wakes the claims when a retry falls due. */
  async function lookAtAll(): Promise<void> {
    const nowMs = clock.now().getTime();
    if (nowMs >= fullScanAtMs) {
      // Before the scan: what is asked for while it runs must not be taken for seen by it.
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

/** When to look next: at the full scan, or when the first retry falls due before it. Ms of the clock. */
function nextLookMs(endpoints: FindWorkDeps['endpoints'], fullScanAtMs: number, nowMs: number): number {
  let nextMs = fullScanAtMs;
  for (const { retryAtMs } of endpoints.all.values())
    if (retryAtMs !== null && retryAtMs > nowMs && retryAtMs < nextMs) nextMs = retryAtMs;
  return nextMs;
}

/** The few that had work a moment ago likely have it again: claimed for without asking which. False: not so few. */
function guessActive(endpoints: FindWorkDeps['endpoints']): boolean {
  const activeSince = performance.now() - ACTIVE_MS;
  const active = [...endpoints.all.values()].filter(({ activeAtMs }) => activeAtMs > activeSince);
  if (active.length > GUESSED_MAX) return false;
  for (const endpoint of active) endpoint.moreFresh = true;
  return true;
}

/** Returns when to scan again: a scan of ten thousand endpoints takes a tenth of a second. */
async function scan({ db, endpoints }: FindWorkDeps): Promise<number> {
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
