import type { SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { findOwnedShards, moveInstance } from '@posthorn/core/instances/move-instance.ts';
import { homeOf } from '@posthorn/core/instances/shard.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { HeldShards } from './held-shards.ts';

/**
 * Instances that move at a time. With the pause this is below the rate at which sessions are opened (INS-22), so that few
 * wait for their turn.
 */
const BATCH = 16;
const PAUSE_MS = 250;

export interface MoverDeps {
  db: Db;
  bus: Bus;
  log: Log;
  held: HeldShards;
  /** Opens the session of an instance that has stayed. */
  lookAt(instanceId: string): Promise<void>;
}

/** The moves of instances that this worker owns and that belong to another shard. */
export interface Mover {
  /** All rows of the owned shards: those which belong elsewhere among so many shards are moved, a few at a time. */
  judge(rows: readonly SessionRow[], shards: number): void;
  stop(): Promise<void>;
}

interface DueMove {
  id: string;
  from: number;
  to: number;
}

export function startMover(deps: MoverDeps): Mover {
  const { held, log } = deps;
  let due: DueMove[] = [];

  const loop = startLoop({
    everyMs: () => (due.length > 0 ? PAUSE_MS : Number.POSITIVE_INFINITY),
    waitsFirst: true,
    retryMs: PAUSE_MS,
    async run() {
      const owned = await findOwnedShards(deps.db, [...new Set(due.map(({ to }) => to))]);
      // The others wait: nobody would open them there.
      const batch = due.filter(({ to }) => owned.has(to)).slice(0, BATCH);
      const begun = new Set(batch);
      due = due.filter((move) => !begun.has(move));
      await Promise.all(batch.map((move) => moveOne(deps, move)));
    },
    onError: (err) => log.warn({ err }, 'moving instances failed, will be retried'),
  });

  return {
    judge(rows, shards) {
      const found = rows.map((row) => ({ id: row.id, from: row.shard, to: homeOf(row, shards) }));
      due = found.filter(({ id, from, to }) => from !== to && held.shard(from)?.leaving.has(id) === false);
      if (due.length > 0) loop.wake();
    },
    stop: loop.stop,
  };
}

async function moveOne({ db, bus, log, held, lookAt }: MoverDeps, { id, from, to }: DueMove): Promise<void> {
  const moving = held.leave(id, from, (lease) => moveInstance(db, lease, { instanceId: id, to }));
  if (!moving) return;
  const isGone = await moving.catch((err) => {
    log.warn({ err, instance_id: id, from, to }, 'an instance could not be moved');
    return false;
  });
  log.debug({ instance_id: id, from, to, moved: isGone }, 'an instance leaves its shard');
  if (isGone) bus.notify('instance', id);
  // After a lost answer it may be elsewhere: whoever owns it finds it.
  else await lookAt(id);
}
