/**
 * How many of `shards` the worker `self` may own among the live ones: all quotas differ by at most one, with
 * the remainder going to the lowest ids, so that they add up to exactly `shards`.
 */
export function fairShare(shards: number, workers: readonly number[], self: number): number {
  const live = [...new Set([...workers, self])].sort((a, b) => a - b);
  const rank = live.indexOf(self);
  return Math.floor(shards / live.length) + (rank < shards % live.length ? 1 : 0);
}

/** The free shards; each worker starts at a different place so that two rarely try for the same one. */
export function pickShards(shards: number, taken: ReadonlySet<number>, self: number): number[] {
  const order = Array.from({ length: shards }, (_, i) => (i + self) % shards);
  return order.filter((shard) => !taken.has(shard));
}
