import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { isLockTimeout } from '@posthorn/core/platform/database/database-errors.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import {
  beat,
  DRAIN_LOCK,
  enterWorker,
  fenceDead,
  findDead,
  KEY_LOCK,
  leaveWorker,
  WORKER_LOCK,
} from '@posthorn/core/workers/members.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import {
  afterHeartbeat,
  type Heartbeats,
  isSteady,
  type Moment,
  NO_HEARTBEATS,
  provesLife,
} from './heartbeats.ts';
import { connectForLocks, type LockConnection } from './lock-connection.ts';

const BEAT_MS = 500;
/** Delay after a failed connection attempt. */
const RETRY_MS = 250;

export interface MembershipDeps {
  databaseUrl: string;
  log: Log;
  /** Names this worker to operators. */
  name: string;
  /** Part of the application_name of each connection of this process; see {@link newWorkerTag}. */
  tag: string;
  /** Tells operators' commands which ENCRYPTION_KEY this worker seals with. */
  keyMark?: number;
  /** Called when other workers were declared dead: their claims are free. */
  onOthersFenced?(): void;
}

/** This worker's registration among the live workers. */
export interface Membership extends Pulse {
  readonly name: string;
  /** The connection that holds our locks; null while there is none or this worker is not alive. */
  connection(): LockConnection | null;
  /** Closes a connection that does not answer, which frees all its locks. */
  drop(connection: LockConnection): void;
  /** Called when the locks are lost: other workers may hold them by now. */
  onLost(handler: () => void): void;
  /**
   * Whether the others share out all shards among themselves, as if this worker were not there. So it is from the start on,
   * until it can own shards. Rejects when the others cannot be told now; the next heartbeat tells them.
   */
  standBack(stands: boolean): Promise<void>;
  /** Unregisters this worker: its claims and locks are free immediately. */
  stop(): Promise<void>;
}

/** Names this process to operators: its host and pid. */
export const WORKER_NAME = `${hostname()} ${process.pid}`;

/** Distinguishes this process's connections from those of all others. */
export function newWorkerTag(): string {
  return `#${randomBytes(6).toString('hex')}`;
}

/** State shared by the functions of one membership. */
interface MembershipContext {
  deps: MembershipDeps;
  handlers: Record<'lost' | 'fenced' | 'alive', Set<() => void>>;
  client: LockConnection | null;
  id: number | null;
  beats: Heartbeats;
  standsBack: boolean;
  /** The connection on which the others see that. */
  backOn: LockConnection | null;
  /** The value last reported to the handlers. */
  isToldAlive: boolean;
  wake(): void;
}

/**
 * Keeps this worker registered: holds its lock, sends its heartbeats, and declares workers dead that send
 * none. Both the connection and the time count as proof of life, because neither suffices: a frozen process
 * keeps its connection, and a killed one is known to be dead long before its time is over.
 */
export function startMembership(deps: MembershipDeps): Membership {
  const member: MembershipContext = {
    deps,
    handlers: { lost: new Set(), fenced: new Set(), alive: new Set() },
    client: null,
    id: null,
    beats: NO_HEARTBEATS,
    standsBack: true,
    backOn: null,
    isToldAlive: false,
    wake: () => loop.wake(),
  };
  const loop = startLoop({
    everyMs: BEAT_MS,
    retryMs: RETRY_MS,
    async run() {
      await round(member);
      if (!isAlive(member)) member.isToldAlive = false;
    },
    onError(err) {
      deps.log.warn({ err }, 'a heartbeat failed');
      // A shard that another worker still holds is not the connection's fault.
      if (member.client && !isLockTimeout(err)) drop(member, member.client);
      if (!isAlive(member)) member.isToldAlive = false;
    },
  });
  const { handlers } = member;
  return {
    name: deps.name,
    isAlive: () => isAlive(member),
    id: () => member.id,
    connection: () => (isAlive(member) ? member.client : null),
    drop: (connection) => drop(member, connection),
    onLost: (handler) => void handlers.lost.add(handler),
    onFenced: (handler) => void handlers.fenced.add(handler),
    onAlive: (handler) => void handlers.alive.add(handler),
    async standBack(stands) {
      member.standsBack = stands;
      if (member.client && member.id !== null) await tellOthers(member, member.client, member.id);
    },
    async stop() {
      await loop.stop();
      const { client, id } = member;
      member.client = null;
      member.id = null;
      if (client && id !== null) await leaveWorker(client, id).catch(() => undefined);
      await client?.end();
    },
  };
}

function isAlive({ id, beats }: MembershipContext): boolean {
  return id !== null && provesLife(beats, now());
}

async function round(member: MembershipContext): Promise<void> {
  // This process was frozen or got no answer for too long, so others may have our shards. Report that before
  // any query.
  if (member.client && !isAlive(member)) drop(member, member.client);
  member.client ??= await connect(member);
  const { client, id } = member;
  if (id === null || !(await sendBeat(member, client, id))) {
    fenced(member);
    return drop(member, client);
  }
  await tellOthers(member, client, id);
  if (!member.isToldAlive) {
    member.isToldAlive = true;
    call(member.handlers.alive);
  }
  if (isSteady(member.beats, now())) await fenceOthers(member.deps, client, id);
}

async function connect(member: MembershipContext): Promise<LockConnection> {
  const { deps } = member;
  const next = await connectForLocks({ ...deps, name: `${deps.tag} shards ${deps.name}` }, (which) =>
    lose(member, which),
  );
  try {
    if (member.id !== null) await endFormer(deps, next);
    if (member.id !== null && !(await sendBeat(member, next, member.id))) fenced(member);
    const id = member.id ?? (await enter(member, next));
    await tellOthers(member, next, id);
    if (deps.keyMark !== undefined)
      await next.query('SELECT pg_advisory_lock_shared($1, $2)', [KEY_LOCK, deps.keyMark]);
    await next.query('SELECT pg_advisory_lock($1, $2)', [WORKER_LOCK, id]);
  } catch (err) {
    void next.end();
    throw err;
  }
  return next;
}

/** If the database still believes in an old connection of ours, that one holds our lock. */
async function endFormer(deps: MembershipDeps, next: LockConnection): Promise<void> {
  await next.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name LIKE $1 AND usename = session_user AND pid <> pg_backend_pid()`,
    [`${deps.tag} shards%`],
  );
}

async function enter(member: MembershipContext, next: LockConnection): Promise<number> {
  const sent = now();
  const id = await enterWorker(next, member.deps);
  member.id = id;
  member.beats = afterHeartbeat(member.beats, sent, now());
  return id;
}

/** Whether they are to leave this worker out, before they can count it and whenever that changes. */
async function tellOthers(member: MembershipContext, on: LockConnection, id: number): Promise<void> {
  const { standsBack } = member;
  if (standsBack === (member.backOn === on)) return;
  member.backOn = standsBack ? on : null;
  const change = standsBack ? 'pg_advisory_lock' : 'pg_advisory_unlock';
  await on.query(`SELECT ${change}($1, $2)`, [DRAIN_LOCK, id]);
}

/** False if this worker was declared dead. */
async function sendBeat(member: MembershipContext, on: LockConnection, id: number): Promise<boolean> {
  const sent = now();
  const stands = await beat(on, id);
  if (stands) member.beats = afterHeartbeat(member.beats, sent, now());
  return stands;
}

function fenced(member: MembershipContext): void {
  member.deps.log.warn({ worker: member.id }, 'another worker declared this one dead; registering again');
  member.id = null;
  member.isToldAlive = false;
  call(member.handlers.fenced);
}

function lose(member: MembershipContext, which: LockConnection): void {
  if (member.client !== which) return;
  member.client = null;
  member.deps.log.warn('the connection that holds the locks is lost');
  call(member.handlers.lost);
  member.wake();
}

function drop(member: MembershipContext, which: LockConnection): void {
  lose(member, which);
  void which.end();
}

async function fenceOthers(deps: MembershipDeps, current: LockConnection, self: number): Promise<void> {
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

function call(handlers: ReadonlySet<() => void>): void {
  for (const handler of handlers) handler();
}

function now(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}
