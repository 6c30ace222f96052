import { type Lease, LeaseLost, type Recorded } from '@posthorn/core/instances/hold-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { PENDING_PAGE, type PendingLoader, type PendingTask } from '@posthorn/core/messages/load-pending.ts';
import type { EndedChange } from '@posthorn/core/messages/record-change-task.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { WorkTries } from '@posthorn/core/messages/work-tries.ts';
import { isUnavailable } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { createWaker } from '@posthorn/core/platform/waker.ts';
import type { NetworkSession } from '@posthorn/network/driver.ts';
import { isChange } from './outbound.ts';
import { type SendTaskDeps, sendTask, type TaskOutcome } from './send-task.ts';
import { createTaskTries } from './task-tries.ts';

/** Sends whose outcome is not recorded yet, of one instance, at most. */
const MAX_UNRECORDED = 256;
const RETRY_MS = 1_000;
/** Whoever looks for all lanes wakes this one (look-for-work.ts). */
const IDLE_MS = 60_000;
/** Of a record that the database refuses, which is not there to refuse it while it is away. */
const RECORD_TRIES = 10;
/** What the network could not take is tried again until it is this old (SND-28). */
const SEND_EXPIRES_MS = 10 * 60_000;
const DEFERRED_RETRY_MS = 5_000;

export interface LaneDeps extends SendTaskDeps {
  loader: PendingLoader;
  recorder: ProgressRecorder;
  tries: WorkTries;
  /** Records how a delete or edit ended. */
  recordChange(ended: EndedChange): Promise<Recorded>;
  /** Something could not be recorded, because another worker owns the shard by now: let go of it. */
  onLeaseLost(lease: Lease): void;
  log: Log;
  /** In place of {@link SEND_EXPIRES_MS} and {@link DEFERRED_RETRY_MS}. */
  deferral?: { expiresMs: number; retryMs: number };
}

export interface LaneOptions {
  instanceId: string;
  companyId: number;
  lease: Lease;
  /** Whether the network drops a second message with the same id. */
  dedupes: boolean;
  settings(): InstanceSettings;
}

/** A task by the ids that recording its end takes. */
export type TaskRef = Pick<PendingTask, 'taskId' | 'messageId' | 'operation'>;

/** The dispatch of one instance: its tasks in accept order, one at a time (SND-32). */
export interface Lane {
  /** There is work up to this seq; without one, look anyway. */
  wake(upToSeq?: number): void;
  /** The seq that is handled, while it knows of nothing to do; null while it is at work or has no session. */
  idleAt(): number | null;
  /** For how long it has known of work and got nowhere; waits that are meant, as for typing, do not count. */
  lateMs(): number;
  attach(session: NetworkSession): void;
  detach(): void;
  /**
   * Takes tasks out that wait: recorded as cancelled when it resolves, and never sent. `underWay` are those
   * that the network has or is getting. Rejects when some could not be recorded: they may still be sent.
   */
  cancel(tasks: readonly TaskRef[]): Promise<{ cancelled: string[]; underWay: string[] }>;
  /** Stops after the send that is under way; resolves when its outcome is recorded. */
  stop(): Promise<void>;
}

interface Deferred {
  task: PendingTask;
  retryAtMs: number;
}

/**
 * Reads pages of tasks above the last seq it handled and hands them to the session. Accepts of one
 * instance commit in the order of their seq, so nothing ever appears below it.
 *
 * The outcome is recorded while the next send is under way: a crash in between sends that one again
 * under the same network id, and the network drops it. What the network cannot take now steps aside, so
 * that nothing else waits for it.
 */
export function startLane(deps: LaneDeps, options: LaneOptions): Lane {
  const waker = createWaker();
  const stopping = new AbortController();
  const unrecorded = new Set<Promise<unknown>>();
  /** Tasks at the network or behind it whose end is not recorded: too late to cancel. */
  const underWay = new Set<string>();
  /** Tasks that must not be sent, and whether that is recorded. */
  const cancelled = new Map<string, { recorded: boolean }>();
  const deferred = new Map<string, Deferred>();
  const { expiresMs, retryMs } = deps.deferral ?? { expiresMs: SEND_EXPIRES_MS, retryMs: DEFERRED_RETRY_MS };
  const bounded = createTaskTries(deps, { ...options, afterCrash: options.lease.afterCrash ?? false });
  let session: NetworkSession | null = null;
  let handledSeq = 0;
  let dirty = true;
  let idle = false;
  /** Getting the task ready that comes next: takes as long as it takes. */
  let preparing = false;
  /** Of the last thing that got on, monotonic. */
  let progressAtMs = performance.now();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (!session || (!dirty && !hasDueDeferred())) {
        idle = true;
        await waker.wait(deferred.size > 0 ? retryMs : IDLE_MS);
        idle = false;
        if (!dirty) progressAtMs = performance.now();
        continue;
      }
      dirty = false;
      try {
        await retryDeferred();
        await drain();
      } catch (err) {
        dirty = true;
        if (stopping.signal.aborted) break;
        if (err instanceof LeaseLost) letGo();
        deps.log.warn({ err, instance_id: options.instanceId }, 'dispatch interrupted');
        await waker.wait(RETRY_MS);
      }
    }
    await Promise.all(unrecorded);
  }

  /** What is still here to be sent is the new owner's. */
  function letGo(): void {
    session = null;
    deps.onLeaseLost(options.lease);
  }

  async function drain(): Promise<void> {
    for (;;) {
      // Recorded, and so gone from the table: nothing that is read from here on can be one of them.
      for (const [taskId, { recorded }] of cancelled) if (recorded) cancelled.delete(taskId);
      const tasks = await deps.loader.push({ instanceId: options.instanceId, afterSeq: handledSeq });
      for (const task of tasks) {
        if (!(await handle(task))) return;
        handledSeq = task.seq;
        if (unrecorded.size >= MAX_UNRECORDED) await Promise.race(unrecorded);
      }
      if (tasks.length < PENDING_PAGE) return;
    }
  }

  /** False when there is no session to hand it to; throws when it has to be tried again. */
  async function handle(task: PendingTask): Promise<boolean> {
    const current = session;
    if (!current || stopping.signal.aborted) {
      dirty = true;
      return false;
    }
    if (cancelled.has(task.taskId)) return true;
    preparing = true;
    const outcome = await bounded
      .attempt(task, () => sendTask(deps, scopeOf(task), current, task))
      .catch((err) => {
        underWay.delete(task.taskId);
        throw err;
      })
      .finally(() => {
        preparing = false;
      });
    await conclude(task, outcome);
    progressAtMs = performance.now();
    return true;
  }

  function scopeOf(task: PendingTask) {
    return {
      ...options,
      signal: stopping.signal,
      begin() {
        preparing = false;
        if (cancelled.has(task.taskId)) return false;
        underWay.add(task.taskId);
        return true;
      },
    };
  }

  async function conclude(task: PendingTask, outcome: TaskOutcome): Promise<void> {
    if (outcome.to === 'cancelled') return;
    if (outcome.to === 'deferred') return defer(task, outcome.reason);
    deferred.delete(task.taskId);
    const recorded = keepRecorded(task, outcome);
    // Nor may the events of what follows overtake it.
    if (isChange(task)) await recorded;
  }

  async function defer(task: PendingTask, reason: string): Promise<void> {
    underWay.delete(task.taskId);
    const now = deps.clock.now();
    if (now.getTime() - task.createdAt.getTime() < expiresMs) {
      deferred.set(task.taskId, { task, retryAtMs: now.getTime() + retryMs });
      return;
    }
    return conclude(task, { to: 'failed', at: now, reason, wireState: 'not_sent' });
  }

  function hasDueDeferred(): boolean {
    const nowMs = deps.clock.now().getTime();
    return deferred.size > 0 && [...deferred.values()].some(({ retryAtMs }) => retryAtMs <= nowMs);
  }

  async function retryDeferred(): Promise<void> {
    const nowMs = deps.clock.now().getTime();
    for (const { task, retryAtMs } of [...deferred.values()]) {
      if (retryAtMs > nowMs) continue;
      if (!(await handle(task))) return;
    }
  }

  /** Pushes until it is recorded: a database that is away delays the record, it does not repeat the send. */
  function keepRecorded(task: TaskRef, outcome: Extract<TaskOutcome, { at: Date }>): Promise<boolean> {
    underWay.add(task.taskId);
    const before = isChange(task) ? [...unrecorded] : [];
    const attempt = async (): Promise<boolean> => {
      // The events of a change come after those of the messages before it.
      await Promise.all(before);
      for (let refusals = 0; ; ) {
        try {
          return (await record(task, outcome)) === 'recorded';
        } catch (err) {
          // Not recorded: the next owner sends it again, under the same network id.
          if (stopping.signal.aborted) return false;
          if (err instanceof LeaseLost) {
            letGo();
            return false;
          }
          if (!isUnavailable(err)) refusals += 1;
          if (refusals >= RECORD_TRIES) {
            deps.log.error({ err, instance_id: options.instanceId }, 'given up: progress that is not taken');
            return false;
          }
          deps.log.warn({ err, instance_id: options.instanceId }, 'recording progress failed, trying again');
          await deps.clock.sleep(RETRY_MS, stopping.signal).catch(() => undefined);
        }
      }
    };
    const recorded = attempt().finally(() => {
      unrecorded.delete(recorded);
      underWay.delete(task.taskId);
    });
    unrecorded.add(recorded);
    return recorded;
  }

  function record(task: TaskRef, outcome: Extract<TaskOutcome, { at: Date }>): Promise<Recorded> {
    const { at, to, reason, wireState } = outcome;
    if (!isChange(task)) {
      return deps.recorder.push({
        messageId: task.messageId,
        lease: options.lease,
        to,
        at,
        reason,
        wireState,
      });
    }
    return deps.recordChange({
      taskId: task.taskId,
      operation: task.operation as EndedChange['operation'],
      lease: options.lease,
      at,
      ...(to === 'failed'
        ? { failure: { reason: reason ?? 'send_failed', wireState: wireState ?? 'not_sent' } }
        : {}),
    });
  }

  const running = run();
  return {
    wake(upToSeq) {
      if (upToSeq !== undefined && upToSeq <= handledSeq) return;
      if (idle && !dirty) progressAtMs = performance.now();
      dirty = true;
      waker.wake();
    },
    idleAt: () => (idle && session && !dirty ? handledSeq : null),
    lateMs: () => (preparing || (idle && !dirty) ? 0 : performance.now() - progressAtMs),
    attach(next) {
      session = next;
      progressAtMs = performance.now();
      dirty = true;
      waker.wake();
    },
    detach() {
      session = null;
    },
    async cancel(tasks) {
      const late = tasks.filter((task) => underWay.has(task.taskId));
      const waiting = tasks.filter((task) => !underWay.has(task.taskId));
      const at = deps.clock.now();
      const ended = waiting.map((task) => {
        deferred.delete(task.taskId);
        const mark = { recorded: false };
        cancelled.set(task.taskId, mark);
        return keepRecorded(task, { to: 'failed', at, reason: 'cancelled', wireState: 'not_sent' }).then(
          (recorded) => (mark.recorded = recorded),
        );
      });
      const recorded = await Promise.all(ended);
      if (recorded.includes(false)) throw new LeaseLost(options.lease);
      return {
        cancelled: waiting.map((task) => task.taskId),
        underWay: late.map((task) => task.taskId),
      };
    },
    async stop() {
      stopping.abort();
      waker.wake();
      await running;
    },
  };
}
