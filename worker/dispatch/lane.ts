import { isUserJid } from '@posthorn/contract/jid.ts';
import type { Lease } from '@posthorn/core/instances/hold-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { PENDING_PAGE, type PendingLoader, type PendingTask } from '@posthorn/core/messages/load-pending.ts';
import type { Progress, ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { createWaker } from '@posthorn/core/platform/waker.ts';
import { type NetworkSession, SendRefused } from '@posthorn/network/driver.ts';

/** Sends whose outcome is not recorded yet, of one instance, at most. */
const MAX_UNRECORDED = 256;
const RETRY_MS = 1_000;
const IDLE_MS = 60_000;

export interface LaneDeps {
  loader: PendingLoader;
  recorder: ProgressRecorder;
  clock: Clock;
  log: Log;
  /** Notes durably that a send begins, for networks that don't drop duplicates. */
  beginAttempt(taskId: string): Promise<void>;
  /** A number in [0, 1), for the humanize delay. */
  random(): number;
}

export interface LaneOptions {
  instanceId: string;
  lease: Lease;
  /** Whether the network drops a second message with the same id. */
  dedupes: boolean;
  settings(): InstanceSettings;
}

/** The dispatch of one instance: its tasks in accept order, one at a time (design 3.4). */
export interface Lane {
  /** There is work up to this seq; without one, look anyway. */
  wake(upToSeq?: number): void;
  attach(session: NetworkSession): void;
  detach(): void;
  /** Stops after the send that is under way; resolves when its outcome is recorded. */
  stop(): Promise<void>;
}

/**
 * Reads pages of tasks above the last seq it handled and hands them to the session. Accepts of one
 * instance commit in the order of their seq, so nothing ever appears below it.
 *
 * The outcome is recorded while the next send is under way: a crash in between sends that one again
 * under the same network id, and the network drops it.
 */
export function startLane(deps: LaneDeps, options: LaneOptions): Lane {
  const waker = createWaker();
  const stopping = new AbortController();
  const unrecorded = new Set<Promise<void>>();
  let session: NetworkSession | null = null;
  let handledSeq = 0;
  let dirty = true;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (!session || !dirty) {
        await waker.wait(IDLE_MS);
        continue;
      }
      dirty = false;
      try {
        await drain();
      } catch (err) {
        dirty = true;
        if (stopping.signal.aborted) break;
        deps.log.warn({ err, instance_id: options.instanceId }, 'dispatch interrupted');
        await waker.wait(RETRY_MS);
      }
    }
    await Promise.all(unrecorded);
  }

  async function drain(): Promise<void> {
    for (;;) {
      const tasks = await deps.loader.push({ instanceId: options.instanceId, afterSeq: handledSeq });
      for (const task of tasks) {
        const current = session;
        if (!current || stopping.signal.aborted) {
          dirty = true;
          return;
        }
        const outcome = await dispatch(current, task);
        handledSeq = task.seq;
        keepRecorded({ ...outcome, messageId: task.messageId, lease: options.lease });
        if (unrecorded.size >= MAX_UNRECORDED) await Promise.race(unrecorded);
      }
      if (tasks.length < PENDING_PAGE) return;
    }
  }

  /** Throws when the outcome is not known and the send may be repeated. */
  async function dispatch(
    current: NetworkSession,
    task: PendingTask,
  ): Promise<Pick<Progress, 'to' | 'at' | 'reason' | 'wireState'>> {
    if (!options.dedupes) {
      if (task.attempts > 0) {
        return { to: 'failed', at: deps.clock.now(), reason: 'outcome_unknown', wireState: 'unknown' };
      }
      await deps.beginAttempt(task.taskId);
    }
    await humanize(current, task);
    try {
      const receipt = await current.send({
        networkId: networkIdOf(task.messageId),
        to: task.chatJid,
        type: task.type,
        content: task.content,
        ...(task.quotedId ? { quotedId: task.quotedId } : {}),
      });
      return { to: 'sent', at: receipt.at };
    } catch (err) {
      if (err instanceof SendRefused) return { to: 'failed', at: deps.clock.now(), reason: err.reason };
      throw err;
    }
  }

  /** Typing first, then (characters x 0.1..0.5) seconds: one-to-one texts only (spec 4.2, humanize). */
  async function humanize(current: NetworkSession, task: PendingTask): Promise<void> {
    if (task.type !== 'text' || !options.settings().humanize_enabled || !isUserJid(task.chatJid)) return;
    const characters = [...String(task.content.text ?? '')].length;
    await current.typing(task.chatJid).catch(() => undefined);
    await deps.clock.sleep(characters * (0.1 + 0.4 * deps.random()) * 1_000, stopping.signal);
  }

  /** Pushes until it is recorded: a database that is away delays the record, it does not repeat the send. */
  function keepRecorded(progress: Progress): void {
    const attempt = async (): Promise<void> => {
      for (;;) {
        try {
          return await deps.recorder.push(progress);
        } catch (err) {
          // Not recorded and stopping: the next owner sends it again, under the same network id.
          if (stopping.signal.aborted) return;
          deps.log.warn({ err, instance_id: options.instanceId }, 'recording progress failed, trying again');
          await deps.clock.sleep(RETRY_MS, stopping.signal).catch(() => undefined);
        }
      }
    };
    const recorded = attempt().finally(() => unrecorded.delete(recorded));
    unrecorded.add(recorded);
  }

  const running = run();
  return {
    wake(upToSeq) {
      if (upToSeq !== undefined && upToSeq <= handledSeq) return;
      dirty = true;
      waker.wake();
    },
    attach(next) {
      session = next;
      dirty = true;
      waker.wake();
    },
    detach() {
      session = null;
    },
    async stop() {
      stopping.abort();
      waker.wake();
      await running;
    },
  };
}
