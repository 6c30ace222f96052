import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { DRAIN_LOCK, drainNotification } from '@posthorn/core/workers/members.ts';
import type { AdminCommand, AdminDeps, AdminRun } from '../command.ts';

const WITHIN_MS = 60_000;
const ASK_EVERY_MS = 500;

interface WorkerRow {
  id: number;
  name: string;
  shards: number;
  drains: boolean;
}

export const drain: AdminCommand = {
  usage: 'drain <worker id>',
  summary: 'move the instances of a worker to the others before you stop it; without an id: list the workers',
  prepare(args) {
    const [id] = args;
    if (id === undefined) return tellWorkers;
    if (args.length > 1 || !/^\d{1,9}$/.test(id))
      throw new StartError(
        `drain takes the id of a worker, not ${args.join(' ')}: without one it lists them`,
      );
    return drainWorker(Number(id));
  },
};

async function tellWorkers({ db, tell }: AdminDeps): Promise<boolean> {
  for (const { id, name, shards, drains } of await listWorkers(db))
    tell(`${id}: ${name}, ${shards} shards${drains ? ', drains' : ''}`);
  return true;
}

function drainWorker(id: number): AdminRun {
  return async ({ db, tell }) => {
    const workers = await listWorkers(db);
    if (!workers.some((worker) => worker.id === id))
      throw new StartError(
        `${id} is no live worker: ${workers.map((one) => one.id).join(', ') || 'there is none'}`,
      );
    if (!workers.some((worker) => worker.id !== id && !worker.drains))
      throw new StartError('no other worker would take its instances: start one first');
    const untilMs = performance.now() + WITHIN_MS;
    for (;;) {
      // Again each time: a notification may be lost.
      await db.query(`SELECT pg_notify('workers', $1)`, [drainNotification(id)]);
      const worker = (await listWorkers(db)).find((one) => one.id === id);
      if (!worker || (worker.drains && worker.shards === 0)) break;
      if (performance.now() > untilMs) {
        tell(`worker ${id} still has ${worker.shards} shards`);
        return false;
      }
      await delay(ASK_EVERY_MS);
    }
    tell(
      `worker ${id} has no instances any more: stop it when you like; a restarted worker takes instances again`,
    );
    return true;
  };
}

async function listWorkers(db: AdminDeps['db']): Promise<WorkerRow[]> {
  const { rows } = await db.query<WorkerRow>(
    `SELECT w.id, w.name, (SELECT count(*) FROM shards WHERE owner_id = w.id) AS shards,
       EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
         AND l.classid = ${DRAIN_LOCK} AND l.objid = w.id::oid
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS drains
     FROM workers w ORDER BY w.id`,
  );
  return rows;
}
