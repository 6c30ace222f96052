import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { raiseEpochs, tryShards, unlockShards } from '@posthorn/core/workers/own-shards.ts';
import type { LockConnection } from './lock-connection.ts';

/** Tries the locks of these shards, and enters the owner of those that it got. */
export async function takeShards(
  current: LockConnection,
  { log, owner }: { log: Log; owner: { name: string; id: number } },
  shards: readonly number[],
): Promise<Lease[]> {
  const got = await tryShards(current, shards);
  if (got.length === 0) return [];
  const raised = await raiseEpochs(current, owner, got).catch((err) => {
    log.debug({ err, shards: got }, 'shards could not be acquired yet');
    return [];
  });
  const mine = new Set(raised.map(({ shard }) => shard));
  // A writer of the former owner is still active: try again later.
  const held = got.filter((shard) => !mine.has(shard));
  if (held.length > 0) await unlockShards(current, held);
  return raised.map(({ shard, epoch, after_crash }) => ({ shard, epoch, afterCrash: after_crash }));
}
