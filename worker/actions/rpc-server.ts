import { UNAVAILABLE } from '@posthorn/core/rpc/request-owner.ts';
import {
  answerCall,
  type CallAnswer,
  forgetCalls,
  type NetworkCall,
  takeCalls,
} from '@posthorn/core/rpc/rpc-requests.ts';
import type { Lease } from '@posthorn/core/instances/hold-leases.ts';
import { shardOf } from '@posthorn/core/instances/shard.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { type NetworkActions, type NetworkSession, SendRefused } from '@posthorn/network/driver.ts';
import type { Lane } from '../dispatch/instance-queue.ts';
import { type CancelTasksDeps, cancelTasks } from './cancel-tasks.ts';

export interface CallServerDeps extends CancelTasksDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** The shards that this worker owns at this moment. */
  leases(): readonly Lease[];
  /** What it holds of an instance; null when there is nothing. */
  instance(instanceId: string): { lane: Lane; session: NetworkSession | null } | null;
}

export interface CallServer {
  /** Answers what it has taken, and takes nothing more. */
  stop(): Promise<void>;
}

/** Hints may be lost: the questions are looked for this often anyway. */
const LOOK_EVERY_MS = 1_000;
const FORGET_AFTER_MS = 60_000;

/**
 * Answers what API processes ask about the instances of this worker (docs/decisions/0013-calls-to-owners.md): pin,
 * vote, star and whatever else the network answers at once, and the cancelling of queued tasks.
 */
export function startCallServer(deps: CallServerDeps): CallServer {
  const answering = new Set<Promise<void>>();
  let looking: Promise<void> | null = null;
  let again = false;
  let stopped = false;
  let lastForgottenMs = 0;

  deps.bus.on('calls', (shard) => {
    if (deps.leases().some((lease) => String(lease.shard) === shard)) look();
  });
  const timer = setInterval(look, LOOK_EVERY_MS);

  /** One look at a time; a hint during one asks for another. */
  function look(): void {
    if (stopped) return;
    if (looking) {
      again = true;
      return;
    }
    looking = takeAndAnswer()
      .catch((err) => deps.log.warn({ err }, 'looking for calls failed'))
      .finally(() => {
        looking = null;
        if (again) {
          again = false;
          look();
        }
      });
  }

  async function takeAndAnswer(): Promise<void> {
    const now = deps.clock.now();
    const leases = deps.leases();
    for (const call of await takeCalls(deps.db, leases, now)) {
      const answered = answer(call).finally(() => answering.delete(answered));
      answering.add(answered);
    }
    if (leases.length > 0 && now.getTime() - lastForgottenMs > FORGET_AFTER_MS) {
      lastForgottenMs = now.getTime();
      await forgetCalls(deps.db, new Date(now.getTime() - FORGET_AFTER_MS));
    }
  }

  async function answer(call: NetworkCall): Promise<void> {
    try {
      await answerCall(deps.db, call.id, await perform(call));
      deps.bus.notify('answers', call.id);
    } catch (err) {
      // Who asked gets no answer, and says so when its time is over.
      deps.log.warn({ err, instance_id: call.instanceId, op: call.op }, 'a call was not answered');
    }
  }

  async function perform({ instanceId, op, args }: NetworkCall): Promise<CallAnswer> {
    const held = deps.instance(instanceId);
    try {
      if (op === 'cancel') {
        const lease = deps.leases().find(({ shard }) => shard === shardOf(instanceId));
        if (!lease) return { error: UNAVAILABLE };
        const taskIds = (args.task_ids as string[] | undefined) ?? null;
        return {
          value: await cancelTasks(deps, { id: instanceId, lease, lane: held?.lane ?? null }, taskIds),
        };
      }
      if (!held?.session) return { error: UNAVAILABLE };
      return { value: await held.session.act(op as keyof NetworkActions, args as never) };
    } catch (err) {
      if (err instanceof SendRefused) return { error: err.reason };
      deps.log.debug({ err, instance_id: instanceId, op }, 'the network could not be asked');
      return { error: UNAVAILABLE };
    }
  }

  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await looking;
      await Promise.all(answering);
    },
  };
}
