import { insertEvents } from '../events/insert-events.ts';
import type { Bus } from '../platform/bus.ts';
import type { Clock } from '../platform/clock.ts';
import type { Client, Db } from '../platform/db.ts';
import { newId } from '../platform/ids.ts';
import { holdLeases, type Lease } from './hold-leases.ts';
import { type InstanceState, mayMove, type WantedState } from './transitions.ts';

export interface InstanceMove {
  instanceId: string;
  /** The lease of the worker that saw it: one that lost the shard writes nothing. */
  lease: Lease;
  to: InstanceState;
  /** Stable snake_case; null for the plain course of things. */
  reason: string | null;
  /** Written with the move. */
  fields?: InstanceFields;
}

export interface InstanceFields {
  credentials?: Buffer | null;
  phone?: string | null;
  jid?: string | null;
  push_name?: string | null;
  last_error?: string | null;
  restriction?: string | null;
  wanted?: WantedState;
}

/**
 * Writes where a session brought its instance: the row, its list of moves and the event, together.
 * Fields are written even when the state is there already. False when nothing was written: the shard
 * has another owner, the instance is gone, or the move is not one of the table's.
 */
export async function moveInstance(
  deps: { db: Db; bus: Bus; clock: Clock },
  move: InstanceMove,
): Promise<boolean> {
  const now = deps.clock.now();
  const companyId = await deps.db.transaction((client) => writeMove(client, move, now));
  if (companyId === null) return false;
  deps.bus.notify('instance', move.instanceId);
  deps.bus.notify('events', String(companyId));
  deps.bus.notify('deliveries');
  return true;
}

async function writeMove(client: Client, move: InstanceMove, now: Date): Promise<number | null> {
  const held = await holdLeases(client, [move.lease]);
  if (!held.has(move.lease.shard)) return null;
  const found = await client.query<{
    company_id: number;
    state: InstanceState;
    phone: string | null;
    jid: string | null;
  }>('SELECT company_id, state, phone, jid FROM instances WHERE id = $1 FOR UPDATE', [move.instanceId]);
  const row = found.rows[0];
  if (!row) return null;
  const moves = row.state !== move.to;
  if (moves && !mayMove(row.state, move.to)) return null;
  await writeFields(client, move, moves, now);
  if (!moves) return row.company_id;
  await client.query(
    `INSERT INTO instance_moves (company_id, instance_id, from_state, to_state, reason, created_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [row.company_id, move.instanceId, row.state, move.to, move.reason, now],
  );
  const data = {
    state: move.to,
    previous_state: row.state,
    reason: move.reason,
    phone: move.fields?.phone ?? row.phone,
    jid: move.fields?.jid ?? row.jid,
    timestamp: now.toISOString(),
  };
  const about = {
    companyId: row.company_id,
    instanceId: move.instanceId,
    data,
    traceId: null,
    createdAt: now,
  };
  await insertEvents(
    client,
    eventsOf(move).map((type) => ({ ...about, eventId: newId(), type })),
  );
  return row.company_id;
}

async function writeFields(client: Client, move: InstanceMove, moves: boolean, now: Date): Promise<void> {
  const fields: Record<string, unknown> = { ...move.fields, updated_at: now };
  if (moves) {
    Object.assign(fields, { state: move.to, state_since: now });
    if (move.to === 'CONNECTED')
      Object.assign(fields, { connected_at: now, last_error: null, restriction: null });
  }
  const names = Object.keys(fields);
  const assignments = names.map((name, i) => `${name} = $${i + 2}`).join(', ');
  await client.query(`UPDATE instances SET ${assignments} WHERE id = $1`, [
    move.instanceId,
    ...Object.values(fields),
  ]);
}

/** PAIRING has no event of its own: each QR has. */
function eventsOf(move: InstanceMove): string[] {
  switch (move.to) {
    case 'CONNECTED':
      return move.reason === 'paired' ? ['instance.paired', 'instance.connected'] : ['instance.connected'];
    case 'DISCONNECTED':
      return [move.reason === 'logged_out' ? 'instance.logged_out' : 'instance.disconnected'];
    case 'HARD_PAUSED':
      return ['instance.hard_paused'];
    case 'BANNED':
      return ['instance.banned'];
    default:
      return [];
  }
}
