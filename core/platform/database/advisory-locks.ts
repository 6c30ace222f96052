/**
 * The numbers of all PostgreSQL advisory locks, so that no two uses share one. `worker`, `shard`, `drain`, `sealingKey`,
 * `addresses`, `acceptOrder`, `deviceState`, `playground` and `scheduled` are the first half of a two-part key, whose second half names
 * the worker, the shard or shards, the key, the instance, the user or the company; the others are whole keys.
 */
export const ADVISORY_LOCKS = {
  migration: 7_071_001,
  retention: 7_071_003,
  purge: 7_071_004,
  mediaRetention: 7_071_006,
  scheduledClaims: 7_071_007,
  messageRetention: 7_071_008,
  longRetention: 7_071_009,
  acceptOrder: 7101,
  deviceState: 7102,
  playground: 7103,
  scheduled: 7104,
  addresses: 7105,
  worker: 7201,
  shard: 7202,
  drain: 7203,
  sealingKey: 7204,
} as const;
