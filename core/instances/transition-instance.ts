import type { EventType } from '@posthorn/contract/events.ts';
import { insertEvents } from '../events/insert-events.ts';
import type { Bus } from '../platform/bus.ts';
import type { Clock } from '../platform/clock.ts';
import type { Client, Db } from '../platform/db.ts';
import { newId } from '../platform/ids.ts';
import { type Lease, underLease } from './hold-leases.ts';
import { type DesiredState, type InstanceState, mayTransition } from './transitions.ts';

/** Columns that change together with the state. What is not named stays. */
export interface TransitionFields {
  /** Sealed by the caller; null forgets the pairing. */
  credentials?: Buffer | null;
  phone?: string | null;
  jid?: string | null;
  push_name?: string | null;
  last_error?: string | null;
  restriction?: 'banned' | 'hard_paused' | null;
  wanted?: DesiredState;
}

export interface InstanceTransition {
  instanceId: string;
  /** The mover's ownership: a move under an epoch that has passed throws LeaseLost. */
  lease: Lease;
  to: InstanceState;
  /** Stable snake_case, e.g. `connection_lost`; reaches users in moves and events. */
  reason: string | null;
  fields?: TransitionFields;
}

/** `gone`: the instance was deleted. `refused`: the table of transitions does not have the move. */
export type TransitionOutcome = 'moved' | 'gone' | 'refused';

/**
 * Writes the state of an instance, the move and its event in one transaction, by the worker that owns
 * it. Nothing was written unless it answers `moved`. Throws LeaseLost when another worker owns it by now.
 *
 * In a state it is in already only the fields are written, and no event but the end of a pairing.
 */
export async function transitionInstance(
  deps: { db: Db; bus: Bus; clock: Clock },
  move: InstanceTransition,
): Promise<TransitionOutcome> {
  const written = await underLease(deps.db, move.lease, (client) =>
    writeMove(client, move, deps.clock.now()),
  );
  if (typeof written === 'string') return written;
  deps.bus.notify('instance', move.instanceId);
  deps.bus.notify('events', String(written));
  deps.bus.notify('deliveries');
  return 'moved';
}

interface Row {
  company_id: number;
  state: InstanceState;
  phone: string | null;
  jid: string | null;
}

/** Gives the company to tell, or why nothing was written. */
async function writeMove(
  client: Client,
  move: InstanceTransition,
  now: Date,
): Promise<number | Exclude<TransitionOutcome, 'moved'>> {
  const found = await client.query<Row>(
    'SELECT company_id, state, phone, jid FROM instances WHERE id = $1 FOR NO KEY UPDATE',
    [move.instanceId],
  );
  const row = found.rows[0];
  if (!row) return 'gone';
  const moves = row.state !== move.to;
  if (moves && !mayTransition(row.state, move.to)) return 'refused';

  const columns: Record<string, unknown> = {
    ...columnsOf(moves, move.to, now),
    ...move.fields,
    updated_at: now,
  };
  const names = Object.keys(columns);
  await client.query(
    `UPDATE instances SET ${names.map((name, i) => `${name} = $${i + 2}`).join(', ')} WHERE id = $1`,
    [move.instanceId, ...Object.values(columns)],
  );
  if (moves) {
    await client.query(
      `INSERT INTO instance_moves (company_id, instance_id, from_state, to_state, reason, created_at)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [row.company_id, move.instanceId, row.state, move.to, move.reason, now],
    );
  }
  const data = {
    state: move.to,
    previous_state: row.state,
    reason: move.reason,
    // After a logout the event still tells whose pairing has ended.
    phone: move.fields?.phone ?? row.phone,
    jid: move.fields?.jid ?? row.jid,
    timestamp: now.toISOString(),
  };
  await insertEvents(
    client,
    eventsOf(row.state, move).map((type) => ({
      eventId: newId(),
      companyId: row.company_id,
      instanceId: move.instanceId,
      type,
      data,
      traceId: null,
      createdAt: now,
    })),
  );
  return row.company_id;
}

/** What a move changes by itself. */
function columnsOf(moves: boolean, to: InstanceState, now: Date): Record<string, unknown> {
  if (!moves) return {};
  const columns: Record<string, unknown> = { state: to, state_since: now };
  if (to === 'CONNECTED') return { ...columns, connected_at: now, last_error: null, restriction: null };
  if (to === 'DISCONNECTED') return { ...columns, restriction: null };
  return columns;
}

function eventsOf(from: InstanceState, move: InstanceTransition): EventType[] {
  if (move.to === 'CONNECTED') {
    const connected: EventType[] = from === 'CONNECTED' ? [] : ['instance.connected'];
    return move.reason === 'paired' ? ['instance.paired', ...connected] : connected;
  }
  if (move.to === 'DISCONNECTED') {
    if (move.reason === 'logged_out') return ['instance.logged_out'];
    return from === 'DISCONNECTED' ? [] : ['instance.disconnected'];
  }
  if (from === move.to || move.to === 'PAIRING' || move.to === 'CREATED') return [];
  return [move.to === 'BANNED' ? 'instance.banned' : 'instance.hard_paused'];
}
