/** The shards that the first release with a fixed number of them knows. */
const KNOWN_TO_ALL = 32;

export interface ShareOf {
  shards: number;
  workers: readonly number[];
  limited: readonly number[];
  held: Readonly<Record<string, number>>;
  free: readonly number[];
}

export interface SharePlan {
  /**
   * How many shards this worker may own: all quotas differ by at most one, with the remainder going to the lowest ids, so
   * that they add up to exactly `shards`. The death of a worker lowers no other quota: the others give up no shard, and
   * only its shards find new owners.
   */
  quota: number;
  /** The free shards that are this worker's: each is in one worker's plan, as long as all see the same. */
  mine: number[];
}

/**
 * Deals the free shards to the workers that are below their quota, in the order of their ids, so that hardly two try
 * for the same lock. With more shards than a worker of the release before knows, the others act as if it were not there: what
 * it does not take they do.
 */
export function planShare({ shards, workers, limited, held, free }: ShareOf, self: number): SharePlan {
  const unable = shards > KNOWN_TO_ALL ? new Set(limited) : new Set<number>();
  const live = [...new Set([...workers, self])].filter((id) => !unable.has(id)).sort((a, b) => a - b);
  let dealt = 0;
  for (const [rank, id] of live.entries()) {
    const quota = Math.floor(shards / live.length) + (rank < shards % live.length ? 1 : 0);
    const missing = Math.max(0, quota - (held[id] ?? 0));
    if (id === self) return { quota, mine: free.slice(dealt, dealt + missing) };
    dealt += missing;
  }
  return { quota: 0, mine: [] };
}

/** From a place that each worker has for itself: for one whose plan did not work out. */
export function rotated(free: readonly number[], self: number): number[] {
  const start = free.length > 0 ? self % free.length : 0;
  return [...free.slice(start), ...free.slice(0, start)];
}

/**
 * Whether workers are still joining, so that sharing out is worth waiting for the next round: when hundreds start
 * at once, the first would take everything, open its sessions and give them away again. Not for ever: one that
 * comes every moment holds nothing up for longer. Both times grow with the workers that are there: hundreds connect one
 * after the other.
 */
export function createJoinWatch({
  calm,
  atMost,
}: Record<'calm' | 'atMost', { ms: number; perWorkerMs: number }>) {
  let seen: ReadonlySet<number> = new Set();
  let lastJoinMs = Number.NEGATIVE_INFINITY;
  let firstJoinMs = Number.NEGATIVE_INFINITY;
  let wasJoining = false;
  return {
    /** `workers`: those that are live at `nowMs`. */
    isJoining(workers: readonly number[], self: number, nowMs: number): boolean {
      const hasJoined = workers.some((id) => id !== self && !seen.has(id));
      if (hasJoined && !wasJoining) firstJoinMs = nowMs;
      if (hasJoined) lastJoinMs = nowMs;
      seen = new Set(workers);
      wasJoining = nowMs - lastJoinMs < calm.ms + workers.length * calm.perWorkerMs;
      return wasJoining && nowMs - firstJoinMs < atMost.ms + workers.length * atMost.perWorkerMs;
    },
  };
}

const ROUND_MS = 500;
const ROUND_MAX_MS = 3_000;
/** Each look reads all locks, which takes the database milliseconds: hundreds of workers look less often, each. */
const PER_WORKER_MS = 10;

/** The time until a worker looks again. With something to share out it is short, however many there are. */
export function roundMs(workers: number, isSettled: boolean): number {
  return isSettled ? Math.min(Math.max(ROUND_MS, workers * PER_WORKER_MS), ROUND_MAX_MS) : ROUND_MS;
}
