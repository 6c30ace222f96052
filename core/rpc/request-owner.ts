import { apiError } from '@posthorn/contract/api-error.ts';
import { SYNC_ACTION_TIMEOUT_MS } from '@posthorn/contract/limits.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { requireAbility } from '../instances/driver-abilities.ts';
import { loadInstance } from '../instances/find-instance.ts';
import { instanceRefusal } from '../instances/instance-refusal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { type NotificationWaits, waitUntilFound } from '../platform/broker/notification-waits.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import { newId } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { OwnerCall, OwnerCalls } from './owner-calls.ts';
import { claimAnswer, dropRequest, insertRequest } from './rpc-requests.ts';

export interface RpcDeps {
  orm: Orm;
  db: Db;
  bus: Bus;
  clock: Clock;
  answers: NotificationWaits;
}

export interface OwnerRequest<Op extends OwnerCall = OwnerCall> {
  principal: Principal;
  instanceId: string;
  op: Op;
  args: OwnerCalls[Op]['args'];
  signal: AbortSignal;
  /** Also of an instance that is not connected: what its owner knows without the network. */
  offline?: boolean;
}

/** The network, or the owner, said no. `reason` is stable snake_case. */
export class RpcRefused extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(`the request was refused: ${reason}`);
    this.name = 'RpcRefused';
    this.reason = reason;
  }
}

/** Refusal of a request that means "the network could not be asked". */
export const UNAVAILABLE = 'unavailable';
/** Refusal of a driver whose network has no such thing, although it did not say so beforehand. */
const UNSUPPORTED = 'unsupported_call';

/**
 * Sends an rpc request to the worker that owns the instance and waits for its answer. Throws ApiError 404
 * INSTANCE_NOT_FOUND, 501 NOT_IMPLEMENTED, 409 INSTANCE_NOT_CONNECTED and the like, 503 SERVICE_UNAVAILABLE with Retry-After
 * when no answer came in time (the outcome is then unknown); {@link RpcRefused} when the answer is no. The answer
 * holds names and texts of strangers: whoever asked parses it.
 */
export async function requestOwner<Op extends OwnerCall>(
  deps: RpcDeps,
  request: OwnerRequest<Op>,
): Promise<unknown> {
  const { principal, args, signal } = request;
  const op: OwnerCall = request.op;
  const instance = await loadInstance(reachOf(deps.orm, principal), request.instanceId);
  const refusal = request.offline ? null : instanceRefusal(instance.state);
  if (op !== 'cancel') await requireAbility(deps.db, instance.driver, op);
  if (refusal) throw refusal;
  const id = newId();
  const expiresAt = new Date(deps.clock.now().getTime() + SYNC_ACTION_TIMEOUT_MS);
  await insertRequest(deps.db, { id, instanceId: instance.id, shard: instance.shard, op, args, expiresAt });
  deps.bus.notify('calls', String(instance.shard));
  const answer = await waitUntilFound(
    deps.answers,
    { payload: id, timeoutMs: SYNC_ACTION_TIMEOUT_MS, signal },
    () => claimAnswer(deps.db, id),
  );
  if (!answer) await dropRequest(deps.db, id);
  if (!answer || ('error' in answer && answer.error === UNAVAILABLE)) {
    throw apiError('SERVICE_UNAVAILABLE', {
      message: 'the network did not answer in time',
      headers: { 'retry-after': '5' },
      cause: answer ? 'the network could not be asked' : 'no answer in time',
    });
  }
  if ('error' in answer && answer.error === UNSUPPORTED) throw apiError('NOT_IMPLEMENTED');
  if ('error' in answer) throw new RpcRefused(answer.error);
  return answer.value;
}
