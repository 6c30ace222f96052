import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { LABELS_MAX, SYNC_ACTION_TIMEOUT_MS } from '@posthorn/contract/limits.ts';
import type { Label } from '@posthorn/contract/messaging/labels.ts';
import type { Principal } from '../access/principal.ts';
import { lockDeviceState } from '../instances/device-state.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { askForChange } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { type LabelScope, storeLabel } from './store-label.ts';

/** Longer than any answer takes: a slot whose creator died with its request is free again after this. */
const RESERVED_MS = 4 * SYNC_ACTION_TIMEOUT_MS;

/**
 * Creates a label in the first free slot, here and on the devices (CHT-1). The slot is reserved before the network is
 * asked, so that two requests never take one. Throws 400 `label limit reached`, and as `requestOwner` does.
 */
export async function createLabel(
  deps: RpcDeps,
  input: {
    principal: Principal;
    instanceId: string;
    body: { name: string; color: number };
    signal: AbortSignal;
  },
): Promise<Label> {
  const { principal, instanceId, body, signal } = input;
  const scope = await requireCapable(deps, input, 'label_edit');
  /** Slots that the phone has taken, of which the news is still on its way. */
  const taken = new Set<string>();
  for (;;) {
    const labelId = await reserveSlot(deps, scope, taken);
    const args = { label_id: labelId, ...body, deleted: false, is_new: true };
    try {
      const revision = await askForChange(
        deps,
        { principal, instanceId, op: 'label_edit', args, signal },
        { slot_taken: () => apiError('CONFLICT', { cause: 'slot_taken' }), label_limit: limitReached },
      );
      await deps.db.transaction(async (sql) => {
        await lockDeviceState(sql, scope.instanceId);
        const revised = { revision, now: deps.clock.now(), isTold: false };
        await storeLabel(sql, scope, { labelId, ...body, deleted: false }, revised);
      });
      return { label_id: labelId, ...body };
    } catch (err) {
      // Without an answer the label may be there all the same: its slot is left to run out.
      if (!(err instanceof ApiError) || err.code === 'SERVICE_UNAVAILABLE') throw err;
      await releaseSlot(deps.db, scope, labelId);
      if (err.cause !== 'slot_taken') throw err;
      taken.add(labelId);
    }
  }
}

function limitReached(): ApiError {
  return apiError('BAD_REQUEST', { message: 'label limit reached' });
}

async function reserveSlot(
  deps: Pick<RpcDeps, 'db' | 'clock'>,
  { companyId, instanceId }: LabelScope,
  taken: ReadonlySet<string>,
): Promise<string> {
  const now = deps.clock.now();
  return deps.db.transaction(async (sql) => {
    await lockDeviceState(sql, instanceId);
    const inUse = await slotsInUse(sql, instanceId, now);
    for (const slot of taken) inUse.add(slot);
    const slots = Array.from({ length: LABELS_MAX }, (_, at) => String(at + 1));
    const free = slots.find((slot) => !inUse.has(slot));
    // The network may have labels in slots of its own numbering: they count too.
    if (free === undefined || inUse.size >= LABELS_MAX) throw limitReached();
    await sql.query(
      `INSERT INTO labels (instance_id, company_id, label_id, name, color, deleted, revision, reserved_until, updated_at)
       VALUES ($1, $2, $3, '', 0, true, 0, $4, $5)
       ON CONFLICT (instance_id, label_id) DO UPDATE SET reserved_until = excluded.reserved_until`,
      [instanceId, companyId, free, new Date(now.getTime() + RESERVED_MS), now],
    );
    return free;
  });
}

async function slotsInUse(sql: Sql, instanceId: string, now: Date): Promise<Set<string>> {
  const found = await sql.query<{ label_id: string }>(
    'SELECT label_id FROM labels WHERE instance_id = $1 AND (NOT deleted OR reserved_until > $2)',
    [instanceId, now],
  );
  return new Set(found.rows.map((row) => row.label_id));
}

async function releaseSlot(db: Db, { instanceId }: LabelScope, labelId: string): Promise<void> {
  await db.transaction(async (sql) => {
    await lockDeviceState(sql, instanceId);
    await sql.query('DELETE FROM labels WHERE instance_id = $1 AND label_id = $2 AND revision = 0', [
      instanceId,
      labelId,
    ]);
    await sql.query('UPDATE labels SET reserved_until = NULL WHERE instance_id = $1 AND label_id = $2', [
      instanceId,
      labelId,
    ]);
  });
}
