import { setTimeout as delay } from 'node:timers/promises';
import { lookAtShards, raiseShards, type ShardsNow } from '@posthorn/core/operations/raise-shards.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import type { AdminCommand, AdminDeps } from '../command.ts';

const ASK_EVERY_MS = 2_000;
/** Without anything that moved for so long, something holds it up. */
const STANDS_AFTER_MS = 60_000;

export const shards: AdminCommand = {
  usage: 'shards <number> --yes',
  summary:
    'raise the number of shards while everything runs, and wait until instances have moved; alone: show it',
  prepare(args) {
    if (args.length === 0)
      return async ({ db, tell }) => {
        tell(told(await lookAtShards(db)));
        return true;
      };
    const [to, yes] = args;
    if (!/^\d+$/.test(to!)) throw new StartError(`${to} is no number of shards`);
    if (args.length > 2 || (yes !== undefined && yes !== '--yes'))
      throw new StartError('shards takes a number, and --yes');
    if (yes === undefined)
      throw new StartError(
        `add --yes to have ${to} shards: most instances reconnect once, and there are never fewer shards again`,
      );
    return async ({ db, tell }) => {
      await raiseShards(db, Number(to));
      return waitUntilMoved({ db, tell });
    };
  },
};

async function waitUntilMoved({ db, tell }: Pick<AdminDeps, 'db' | 'tell'>): Promise<boolean> {
  let last: ShardsNow | null = null;
  let sinceMs = performance.now();
  for (;;) {
    const now = await lookAtShards(db);
    if (now.toMove === 0 && (now.owned === now.shards || now.workers === 0)) {
      tell(told(now));
      return true;
    }
    if (now.workers === 0) {
      tell(`${told(now)}; they move when a worker runs`);
      return true;
    }
    if (last?.toMove !== now.toMove || last.owned !== now.owned) {
      tell(told(now));
      sinceMs = performance.now();
    } else if (performance.now() - sinceMs > STANDS_AFTER_MS) {
      tell('nothing moved for a minute: look at the logs of the workers');
      return false;
    }
    last = now;
    await delay(ASK_EVERY_MS);
  }
}

function told({ shards, owned, workers, toMove }: ShardsNow): string {
  const moving = toMove === 0 ? 'every instance is in its shard' : `${toMove} instances have to move`;
  return `${shards} shards, ${owned} of them with an owner, ${workers} workers; ${moving}`;
}
