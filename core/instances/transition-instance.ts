import type { EventType } from '@posthorn/contract/events.ts';
import { buildEvent } from '../events/build-event.ts';
import { type RecorderDeps, type Recording, recordUnderLease } from './create-recorder.ts';
import { lockDeviceState } from './device-state.ts';
import type { Lease } from './lock-leases.ts';
import { type DesiredState, type InstanceState, mayTransition } from './transitions.ts';

/** Columns that change together with the state. A column that is not named keeps its value. */
export interface TransitionFields {
  /** Sealed by the caller; null forgets the pairing. */
  credentials?: Buffer | null;
  phone?: string | null;
  jid?: string | null;
  push_name?: string | null;
  last_error?: string | null;
  /** `banned`, `hard_paused`, or what a network imposes while it stays connected. */
  restriction?: string | null;
  wanted?: DesiredState;
}

export interface InstanceTransition {
  instanceId: string;
  /** The ownership of who writes it: under an epoch that has passed it throws LeaseLost. */
  lease: Lease;
  to: InstanceState;
  /** Stable snake_case, e.g. `connection_lost`; reaches users in the connection's `moves` and in events. */
  reason: string | null;
  fields?: TransitionFields;
  /** The sealed credentials that `fields` forget. Others, which a user gave meanwhile, stay with what belongs to them. */
  forgets?: Buffer | null;
  /** That under which the session was opened. With a newer one a user has asked for something since: `wanted` stays. */
  generation?: number;
}

/** `gone`: the instance was deleted. `refused`: the table of transitions does not have it. */
export type TransitionOutcome = 'moved' | 'gone' | 'refused';

/**
 * Writes the state of an instance, the transition and its event in one transaction, by the worker that owns it. Nothing
 * was written unless it answers `moved`. Throws LeaseLost when another worker now owns it.
 *
 * When the instance is in the state already, only the fields are written, and the only event is the end of a pairing. A
 * transition that is repeated because its commit got no answer adds no second event.
 */
export async function transitionInstance(
  deps: RecorderDeps,
  transition: InstanceTransition,
): Promise<TransitionOutcome> {
  const outcome = await recordUnderLease(deps, transition.lease, (recording) => write(recording, transition));
  if (outcome === 'moved') deps.bus.notify('instance', transition.instanceId);
  return outcome;
}

interface Row {
  company_id: number;
  state: InstanceState;
  phone: string | null;
  jid: string | null;
  is_paired: boolean;
  /** Whether it has the credentials that are to be forgotten. */
  has_former: boolean;
  generation: number;
}

async function write(
  { client, now, tell }: Recording,
  transition: InstanceTransition,
): Promise<TransitionOutcome> {
  const { instanceId, to, reason, forgets } = transition;
  const found = await client.query<Row>(
    `SELECT company_id, state, phone, jid, generation, credentials IS NOT NULL AS is_paired,
       credentials IS NOT DISTINCT FROM $2::bytea AS has_former
     FROM instances WHERE id = $1 FOR NO KEY UPDATE`,
    [instanceId, forgets ?? null],
  );
  const row = found.rows[0];
  if (!row) return 'gone';
  const changes = row.state !== to;
  if (changes && !mayTransition(row.state, to)) return 'refused';

  const fields = fieldsOf(transition, row);
  const columns: Record<string, unknown> = {
    ...(changes ? columnsOf(to, now) : {}),
    ...fields,
    updated_at: now,
  };
  const names = Object.keys(columns);
  await client.query(
    `UPDATE instances SET ${names.map((name, i) => `${name} = $${i + 2}`).join(', ')} WHERE id = $1`,
    [instanceId, ...Object.values(columns)],
  );
  if (changes) {
    await client.query(
      `INSERT INTO instance_moves (company_id, instance_id, from_state, to_state, reason, created_at)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [row.company_id, instanceId, row.state, to, reason, now],
    );
  }
  // The network tells a new pairing which groups its account is in; those of another account must not stay.
  if (reason === 'paired') {
    // A refresh of groups has an order of its own.
    await lockDeviceState(client, instanceId);
    await client.query('DELETE FROM chat_groups WHERE instance_id = $1', [instanceId]);
  }
  const data = {
    state: to,
    previous_state: row.state,
    reason,
    // After a logout the event still tells whose pairing has ended.
    phone: fields?.phone ?? row.phone,
    jid: fields?.jid ?? row.jid,
    timestamp: now.toISOString(),
  };
  const subject = { companyId: row.company_id, instanceId };
  await tell(eventsOf(row, transition).map((type) => buildEvent(subject, { type, data, now })));
  return 'moved';
}

/** Without what a user has changed meanwhile. */
function fieldsOf({ fields = {}, forgets, generation }: InstanceTransition, row: Row): TransitionFields {
  const { credentials, phone, jid, push_name, wanted, ...others } = fields;
  const isOver = forgets === undefined || row.has_former;
  const isNewest = generation === undefined || row.generation === generation;
  return {
    ...others,
    ...(isOver ? given({ credentials, phone, jid, push_name }) : {}),
    ...(isNewest ? given({ wanted }) : {}),
  };
}

function given(fields: Record<string, unknown>): TransitionFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The columns that a transition changes by itself. */
function columnsOf(to: InstanceState, now: Date): Record<string, unknown> {
  const columns = { state: to, state_since: now };
  if (to === 'CONNECTED') return { ...columns, connected_at: now, last_error: null, restriction: null };
  if (to === 'DISCONNECTED') return { ...columns, restriction: null };
  return columns;
}

function eventsOf(row: Row, transition: InstanceTransition): EventType[] {
  const { state: from } = row;
  if (isRepeated(row, transition)) return [];
  if (transition.to === 'CONNECTED') {
    const connected: EventType[] = from === 'CONNECTED' ? [] : ['instance.connected'];
    return transition.reason === 'paired' ? ['instance.paired', ...connected] : connected;
  }
  if (transition.to === 'DISCONNECTED') {
    if (transition.reason === 'logged_out') return ['instance.logged_out'];
    return from === 'DISCONNECTED' ? [] : ['instance.disconnected'];
  }
  if (from === transition.to || transition.to === 'PAIRING' || transition.to === 'CREATED') return [];
  return [transition.to === 'BANNED' ? 'instance.banned' : 'instance.hard_paused'];
}

/** Whether an earlier try, whose answer was lost, has already written this start or end of a pairing. */
function isRepeated({ state, is_paired: isPaired }: Row, { reason }: InstanceTransition): boolean {
  if (reason === 'paired') return state === 'CONNECTED';
  return reason === 'logged_out' && state === 'DISCONNECTED' && !isPaired;
}
