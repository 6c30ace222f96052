import { apiError } from '@posthorn/contract/api-error.ts';
import type { Label } from '@posthorn/contract/messaging/labels.ts';
import type { Principal } from '../access/principal.ts';
import { askForChange } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { requireLabel } from './list-labels.ts';
import { type LabelScope, type LabelState, lockLabels, storeLabel } from './store-label.ts';

export interface LabelInput {
  principal: Principal;
  instanceId: string;
  labelId: string;
  signal: AbortSignal;
}

/** Changes a label here and on the devices (CHT-1). Throws 404 NOT_FOUND, and as `requestOwner` does. */
export async function updateLabel(
  deps: RpcDeps,
  input: LabelInput & { body: { name?: string | undefined; color?: number | undefined } },
): Promise<Label> {
  const scope = await requireCapable(deps, input, 'label_edit');
  const known = await requireLabel(deps.db, scope.instanceId, input.labelId);
  if (input.body.name === undefined && input.body.color === undefined) return known;
  const name = input.body.name ?? known.name;
  const color = input.body.color ?? known.color;
  await editLabel(deps, scope, input, { labelId: input.labelId, name, color, deleted: false });
  return { label_id: input.labelId, name, color };
}

/** Deletes a label, and takes it off all chats and messages. Throws as {@link updateLabel}. */
export async function deleteLabel(deps: RpcDeps, input: LabelInput): Promise<void> {
  const scope = await requireCapable(deps, input, 'label_edit');
  const { name, color } = await requireLabel(deps.db, scope.instanceId, input.labelId);
  await editLabel(deps, scope, input, { labelId: input.labelId, name, color, deleted: true });
}

async function editLabel(
  deps: RpcDeps,
  scope: LabelScope,
  { principal, instanceId, signal }: LabelInput,
  label: LabelState,
): Promise<void> {
  const { labelId: label_id, name, color, deleted } = label;
  const args = { label_id, name, color, deleted, is_new: false };
  const revision = await askForChange(
    deps,
    { principal, instanceId, op: 'label_edit', args, signal },
    // The phone was quicker.
    { label_not_found: () => apiError('NOT_FOUND') },
  );
  await deps.db.transaction(async (sql) => {
    await lockLabels(sql, scope.instanceId);
    await storeLabel(sql, scope, label, { revision, now: deps.clock.now(), isTold: false });
  });
}
