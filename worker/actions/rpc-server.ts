import { setTimeout as delay } from 'node:timers/promises';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { type NetworkSession, SendRefused } from '@posthorn/core/network/driver.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import { UNAVAILABLE } from '@posthorn/core/rpc/request-owner.ts';
import {
  answerRequest,
  claimRequests,
  forgetRequests,
  type RpcAnswer,
  type RpcRequest,
} from '@posthorn/core/rpc/rpc-requests.ts';
import { type CancelTasksDeps, cancelTasks } from '../dispatch/cancel-tasks.ts';
import type { InstanceQueue } from '../dispatch/instance-queue.ts';
import type { NetworkAnswer } from '../sessions/note-answer.ts';

export interface RpcServerDeps extends CancelTasksDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** The shards this worker owns right now. */
  leases(): readonly Lease[];
  /** The lease for what is done to an instance of this shard; null when it is elsewhere, or about to be. */
  leaseFor(instanceId: string, shard: number): Lease | null;
  /** The queue and session this worker holds for an instance, or null. */
  instance(instanceId: string): HeldInstance | null;
}

export interface HeldInstance {
  queue: InstanceQueue;
  session: NetworkSession | null;
  /** Stores the effects of a network answer on anyone other than the caller. Rejects if that fails. */
  noteAnswer(answer: NetworkAnswer): Promise<void>;
}

/** Notifications can be lost, so requests are also polled at this interval. */
const LOOK_EVERY_MS = 1_000;
const FORGET_AFTER_MS = 60_000;
/** The network may leave a call unanswered for half a minute: shards are released without waiting for it. */
const LAST_ANSWERS_MS = 1_000;

export interface RpcServer {
  /** Claims no more requests, and gives those already claimed a moment to be answered. */
  stop(): Promise<void>;
  /** Resolves when all are answered. The end of a session ends its calls. */
  idle(): Promise<unknown>;
}

/**
 * Answers RPC requests from API processes about this worker's instances
 * (docs/decisions/0013-calls-to-owners.md): network calls with an immediate answer, such as pin, vote and
 * star, and cancelling queued tasks.
 */
export function startRpcServer(deps: RpcServerDeps): RpcServer {
  const answering = new Set<Promise<void>>();
  let lastForgottenMs = 0;

  const loop = startLoop({
    everyMs: LOOK_EVERY_MS,
    waitsFirst: true,
    run: claimAndAnswer,
    onError: (err) => deps.log.warn({ err }, 'reading rpc requests failed'),
  });
  deps.bus.on('calls', (shard) => {
    if (deps.leases().some((lease) => String(lease.shard) === shard)) loop.wake();
  });

  async function claimAndAnswer(): Promise<void> {
    const now = deps.clock.now();
    const leases = deps.leases();
    for (const request of await claimRequests(deps.db, leases, now)) {
      const answered = answer(deps, request).finally(() => answering.delete(answered));
      answering.add(answered);
    }
    if (leases.length > 0 && now.getTime() - lastForgottenMs > FORGET_AFTER_MS) {
      lastForgottenMs = now.getTime();
      await forgetRequests(deps.db, new Date(now.getTime() - FORGET_AFTER_MS));
    }
  }

  return {
    async stop() {
      await loop.stop();
      await Promise.race([Promise.all(answering), delay(LAST_ANSWERS_MS, undefined, { ref: false })]);
    },
    idle: () => Promise.all(answering),
  };
}

async function answer(deps: RpcServerDeps, request: RpcRequest): Promise<void> {
  try {
    await answerRequest(deps.db, request.id, await perform(deps, request));
    deps.bus.notify('answers', request.id);
  } catch (err) {
    // The caller gets no answer and reports a timeout.
    deps.log.warn(
      { err, instance_id: request.instanceId, op: request.op },
      'answering an rpc request failed',
    );
  }
}

async function perform(deps: RpcServerDeps, request: RpcRequest): Promise<RpcAnswer> {
  const { instanceId } = request;
  const held = deps.instance(instanceId);
  try {
    if (request.op === 'cancel') {
      const lease = deps.leaseFor(instanceId, request.shard);
      if (!lease) return { error: UNAVAILABLE };
      return {
        value: await cancelTasks(
          deps,
          { id: instanceId, lease, queue: held?.queue ?? null },
          { taskIds: request.args.task_ids },
        ),
      };
    }
    if (!held?.session) return { error: UNAVAILABLE };
    const value = await held.session.act(request.op, request.args);
    await held.noteAnswer({ ...request, value });
    return { value };
  } catch (err) {
    if (err instanceof SendRefused) return { error: err.reason };
    deps.log.debug({ err, instance_id: instanceId, op: request.op }, 'an rpc call to the network failed');
    return { error: UNAVAILABLE };
  }
}
