import { setTimeout as delay } from 'node:timers/promises';
import { isInShard, type Place, placeInstance } from '@posthorn/core/operations/place-instance.ts';
import { isUuid } from '@posthorn/core/platform/ids.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import type { AdminCommand, AdminRun } from '../command.ts';

const WITHIN_MS = 60_000;
const ASK_EVERY_MS = 500;

export const move: AdminCommand = {
  usage: 'move <instance id> <shard>|worker:<id>|home',
  summary: 'move an instance to this shard or to one of this worker; home: back to the shard of its id',
  prepare(args) {
    const [instanceId, where] = args;
    if (args.length !== 2 || !isUuid(instanceId!))
      throw new StartError('move takes the id of an instance, and a shard, worker:<id> or home');
    return moveTo(instanceId!, placeOf(where!));
  },
};

function moveTo(instanceId: string, place: Place): AdminRun {
  return async ({ db, tell }) => {
    const shard = await placeInstance(db, instanceId, place);
    const untilMs = performance.now() + WITHIN_MS;
    while (!(await isInShard(db, instanceId, shard))) {
      if (performance.now() > untilMs) {
        tell(
          `instance ${instanceId} is assigned to shard ${shard} but has not moved yet: does a worker own both shards?`,
        );
        return false;
      }
      await delay(ASK_EVERY_MS);
    }
    tell(`instance ${instanceId} is in shard ${shard}${place === 'home' ? '' : ', and stays there'}`);
    return true;
  };
}

function placeOf(where: string): Place {
  if (where === 'home') return where;
  const [, worker, id] = /^(worker:)?(\d{1,9})$/.exec(where) ?? [];
  if (id === undefined) throw new StartError(`${where} is neither a shard, worker:<id> nor home`);
  return worker ? { workerId: Number(id) } : { shard: Number(id) };
}
