import { apiError } from '@posthorn/contract/api-error.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { CancelAnswer, OwnerCalls } from '../rpc/owner-calls.ts';
import { type RpcDeps, requestOwner } from '../rpc/request-owner.ts';

interface CancelInput {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

/**
 * Cancels one queued task. Only the owner of the instance knows what it is sending right now, so an rpc request
 * asks it, whether connected or not: a task that it reports as cancelled is never sent. Throws 404
 * INSTANCE_NOT_FOUND, NOT_FOUND; 409 CONFLICT while it is being sent; 503 SERVICE_UNAVAILABLE.
 */
export async function cancelQueued(deps: RpcDeps, input: CancelInput & { taskId: string }): Promise<void> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const queued = await deps.db.query('SELECT 1 FROM outbox WHERE task_id = $1 AND instance_id = $2', [
    input.taskId,
    instanceId,
  ]);
  if (queued.rows.length === 0) throw apiError('NOT_FOUND');
  const answer = await cancel(deps, input, { task_ids: [input.taskId.toLowerCase()] });
  if (answer.cancelled.length > 0) return;
  if (answer.under_way.length > 0) throw apiError('CONFLICT', { message: 'the task is being sent' });
  // Sent, or cancelled by another, while we looked.
  throw apiError('NOT_FOUND');
}

/** Cancels everything that waits; how many tasks that were. Throws as cancelQueued, never CONFLICT. */
export async function clearQueue(deps: RpcDeps, input: CancelInput): Promise<number> {
  return (await cancel(deps, input, {})).cancelled.length;
}

async function cancel(
  deps: RpcDeps,
  { principal, instanceId, signal }: CancelInput,
  args: OwnerCalls['cancel']['args'],
): Promise<CancelAnswer> {
  const answer = await requestOwner(deps, {
    principal,
    instanceId,
    op: 'cancel',
    args,
    signal,
    offline: true,
  });
  return answer as CancelAnswer;
}
