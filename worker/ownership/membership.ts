import { randomBytes } from 'node:crypto';
import type { Log } from '@posthorn/core/platform/log.ts';
import { createWaker } from '@posthorn/core/platform/waker.ts';
import {
  beat,
  enterWorker,
  fenceDead,
  findDead,
  leaveWorker,
  WORKER_LOCK,
} from '@posthorn/core/workers/members.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { connectForLocks, type LockConnection } from './lock-connection.ts';

const BEAT_MS = 500;
/** After a connection that could not be made. */
const RETRY_MS = 250;
/**
 * A heartbeat proves that one is alive for so long, counted from before it was sent. Well below the time
 * after which others declare one dead (FROZEN_AFTER_MS), which they count from after it arrived.
 */
const ALIVE_MS = 5_000;
/**
 * Who has not been beating without a gap for so long declares nobody dead: after the database was away,
 * everybody's last heartbeat is old, and they all need a moment to send the next.
 */
const STEADY_MS = 3_000;
const GAP_MS = 2_000;

export interface MembershipDeps {
  databaseUrl: string;
  log: Log;
  /** Names this worker to operators. */
  name: string;
  /** Stands in the application_name of each connection of this process; see {@link newWorkerTag}. */
  tag: string;
  /** Others were declared dead: what they had claimed is free. */
  onOthersFenced?(): void;
}

/** A worker's place among the living. */
export interface Membership extends Pulse {
  readonly name: string;
  /** The connection that holds our locks; null while there is none, or while we are not alive. */
  connection(): LockConnection | null;
  /** Gives up a connection that does not answer, and with it every lock. */
  drop(connection: LockConnection): void;
  /** The locks are gone: others may hold them by now. */
  onLost(handler: () => void): void;
  /** Leaves the living: claims and locks are free at once. */
  stop(): Promise<void>;
}

/** Tells the connections of this process from those of every other. */
export function newWorkerTag(): string {
  return `#${randomBytes(6).toString('hex')}`;
}

/**
 * Keeps this worker among the living: holds its lock, sends its heartbeats, and declares dead those that send
 * none. Proof of life is the connection as well as time, since either alone is not enough: a frozen process
 * keeps its connection, and a killed one is known to be dead long before its time is over.
 */
export function startMembership(deps: MembershipDeps): Membership {
  const waker = createWaker();
  const handlers = {
    lost: new Set<() => void>(),
    fenced: new Set<() => void>(),
    alive: new Set<() => void>(),
  };
  let client: LockConnection | null = null;
  let id: number | null = null;
  let stopping = false;
  let lastBeat = longAgo();
  let steadySinceMs = 0;
  /** As it was last told to the handlers. */
  let toldAlive = false;

  const isAlive = () => id !== null && ageMs(lastBeat) < ALIVE_MS;

  function lose(which: LockConnection): void {
    if (client !== which) return;
    client = null;
    deps.log.warn('the connection that holds the locks is lost');
    call(handlers.lost);
    waker.wake();
  }

  function drop(which: LockConnection): void {
    lose(which);
    void which.end();
  }

  async function connect(): Promise<LockConnection> {
    const next = await connectForLocks({ ...deps, name: `${deps.tag} shards ${deps.name}` }, lose);
    try {
      if (id !== null) await endFormer(next);
      if (id !== null && !(await takeBeat(next, id))) fenced();
      if (id === null) await enter(next);
      await next.query('SELECT pg_advisory_lock($1, $2)', [WORKER_LOCK, id]);
    } catch (err) {
      void next.end();
      throw err;
    }
    return next;
  }

  /** A connection of ours that only the database still believes in holds our lock. */
  async function endFormer(next: LockConnection): Promise<void> {
    await next.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name LIKE $1 AND usename = session_user AND pid <> pg_backend_pid()`,
      [`${deps.tag} shards%`],
    );
  }

  async function enter(next: LockConnection): Promise<void> {
    const sent = now();
    id = await enterWorker(next, deps);
    noteBeat(sent);
  }

  async function takeBeat(on: LockConnection, self: number): Promise<boolean> {
    const sent = now();
    const stands = await beat(on, self);
    if (stands) noteBeat(sent);
    return stands;
  }

  function noteBeat(sent: Moment): void {
    if (ageMs(lastBeat) > GAP_MS) steadySinceMs = sent.monotonicMs;
    lastBeat = sent;
  }

  function fenced(): void {
    deps.log.warn({ worker: id }, 'this worker was declared dead by another, and begins anew');
    id = null;
    toldAlive = false;
    call(handlers.fenced);
  }

  async function round(): Promise<void> {
    // Frozen, or without an answer for too long: others may have our shards. Said before anything is asked.
    if (client && !isAlive()) drop(client);
    client ??= await connect();
    const current = client;
    if (id === null || !(await takeBeat(current, id))) {
      fenced();
      return drop(current);
    }
    if (!toldAlive) {
      toldAlive = true;
      call(handlers.alive);
    }
    if (performance.now() - steadySinceMs >= STEADY_MS) await fenceOthers(current, id);
  }

  async function fenceOthers(current: LockConnection, self: number): Promise<void> {
    const dead = await findDead(current, self);
    if (dead.length === 0) return;
    const ids = await fenceDead(
      current,
      dead.map((worker) => worker.id),
    );
    if (ids.length === 0) return;
    deps.log.warn({ workers: dead.filter((worker) => ids.includes(worker.id)) }, 'declared workers dead');
    deps.onOthersFenced?.();
  }

  async function run(): Promise<void> {
    while (!stopping) {
      let waitMs = BEAT_MS;
      try {
        await round();
      } catch (err) {
        deps.log.warn({ err }, 'a heartbeat failed');
        // A shard that somebody still holds is no fault of the connection.
        if (client && !isLockTimeout(err)) drop(client);
        waitMs = RETRY_MS;
      }
      if (!isAlive()) toldAlive = false;
      if (!stopping) await waker.wait(waitMs);
    }
  }

  const running = run();
  return {
    name: deps.name,
    isAlive,
    id: () => id,
    connection: () => (isAlive() ? client : null),
    drop,
    onLost: (handler) => void handlers.lost.add(handler),
    onFenced: (handler) => void handlers.fenced.add(handler),
    onAlive: (handler) => void handlers.alive.add(handler),
    async stop() {
      stopping = true;
      waker.wake();
      await running;
      const last = client;
      const self = id;
      client = null;
      id = null;
      if (last && self !== null) await leaveWorker(last, self).catch(() => undefined);
      await last?.end();
    },
  };
}

function call(handlers: ReadonlySet<() => void>): void {
  for (const handler of handlers) handler();
}

interface Moment {
  monotonicMs: number;
  wallMs: number;
}

function now(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** The monotonic clock stands still while the whole machine is asleep, and the wall clock may be set back. */
function ageMs(moment: Moment): number {
  return Math.max(performance.now() - moment.monotonicMs, Date.now() - moment.wallMs);
}

function longAgo(): Moment {
  return { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
}

function isLockTimeout(err: unknown): boolean {
  return (err as { code?: unknown }).code === '55P03';
}
