import { buildEvent } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import { lockDeviceState } from '../instances/device-state.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import { knownJid, type Person, readPhones } from '../lids/read-phones.ts';
import type { GroupInfo } from '../network/actions.ts';
import type { NetworkFact } from '../network/facts.ts';
import type { Sql } from '../platform/database/db.ts';
import { canonicalJson, hashKey } from '../platform/hashes.ts';
import { afterAction } from './group.ts';
import { removeGroup, saveGroup } from './group-rows.ts';

/** The facts about groups. */
export type GroupFact = Extract<NetworkFact, { kind: 'group' | 'group_changed' | 'group_participants' }>;

interface Scope {
  companyId: number;
  instanceId: string;
  lease: Lease;
}

/**
 * Records facts about groups in their order, each once: the group as it is now, and group.updated or
 * group.participants_changed. A group that the account was taken out of is forgotten. Throws LeaseLost.
 */
export async function recordGroupFacts(
  deps: RecorderDeps,
  scope: Scope,
  facts: readonly GroupFact[],
): Promise<Recorded> {
  await recordUnderLease(deps, scope.lease, async ({ client, now, tell }) => {
    await lockDeviceState(client, scope.instanceId);
    const events: NewEvent[] = [];
    for (const fact of facts) {
      if (fact.kind === 'group') {
        await saveGroup(client, scope, fact.group, { toldAt: now, at: fact.at });
        continue;
      }
      const event = await record(client, scope, fact, now);
      // The network repeats what was not acknowledged, within a batch too.
      const isTold = events.some(({ eventId }) => eventId === event.eventId);
      if (!isTold && !(await wasTold(client, event.eventId))) events.push(event);
    }
    await tell(events);
  });
  return 'recorded';
}

type Changing = Exclude<GroupFact, { kind: 'group' }>;

function idOf({ instanceId }: Scope, fact: Changing): string {
  const { at, kind, chat, ...what } = fact;
  return hashKey(instanceId, kind, chat, at.toISOString(), canonicalJson(what));
}

async function wasTold(sql: Sql, eventId: string): Promise<boolean> {
  return (await sql.query('SELECT 1 FROM events WHERE event_id = $1', [eventId])).rows.length > 0;
}

/** Changes the row, as far as the fact is not older than the last one, and gives the event. */
async function record(sql: Sql, scope: Scope, fact: Changing, now: Date): Promise<NewEvent> {
  const { instanceId } = scope;
  const eventId = idOf(scope, fact);
  const { chat: jid, by, at } = fact;
  const people = fact.kind === 'group_participants' ? fact.participants : [];
  const named: Person[] = [...people, ...(by ? [by] : [])].map((one) => ({ instanceId, jid: one }));
  const book = await readPhones(sql, named);
  const phoneOf = (one: string) => book({ instanceId, jid: one });
  if (fact.kind === 'group_changed') await applyChange(sql, instanceId, fact, now);
  else await applyAction(sql, instanceId, { ...fact, phoneOf }, now);
  const base = { jid, by, phone: by ? phoneOf(by) : '' };
  const timestamp = at.toISOString();
  if (fact.kind === 'group_changed') {
    const { kind, chat, by, at, ...change } = fact;
    return buildEvent(scope, {
      type: 'group.updated',
      data: { ...base, ...change, timestamp },
      now,
      eventId,
    });
  }
  const participants = people.map((one) => ({ jid: one, phone: phoneOf(one) }));
  const data = { ...base, action: fact.action, participants, timestamp };
  return buildEvent(scope, { type: 'group.participants_changed', data, now, eventId });
}

async function applyChange(
  sql: Sql,
  instanceId: string,
  { chat, at, name, description, announce, locked }: Extract<Changing, { kind: 'group_changed' }>,
  now: Date,
): Promise<void> {
  await sql.query(
    `UPDATE chat_groups SET name = coalesce($3, name), description = coalesce($4, description),
       announce = coalesce($5, announce), locked = coalesce($6, locked), told_at = $7, fact_at = $8, updated_at = $7
     WHERE instance_id = $1 AND jid = $2 AND fact_at <= $8`,
    [instanceId, chat, name ?? null, description ?? null, announce ?? null, locked ?? null, now, at],
  );
}

async function applyAction(
  sql: Sql,
  instanceId: string,
  fact: Extract<Changing, { kind: 'group_participants' }> & { phoneOf: (jid: string) => string },
  now: Date,
): Promise<void> {
  const { chat, at, action, participants, phoneOf } = fact;
  const found = await sql.query<{ participants: GroupInfo['participants']; phone: string | null }>(
    `SELECT g.participants, i.phone FROM chat_groups g JOIN instances i ON i.id = g.instance_id
     WHERE g.instance_id = $1 AND g.jid = $2 AND g.fact_at <= $3 FOR UPDATE OF g`,
    [instanceId, chat, at],
  );
  const group = found.rows[0];
  if (!group) return;
  const isUs = (jid: string) => group.phone !== null && phoneOf(jid) === group.phone;
  if (action === 'remove' && participants.some(isUs)) return removeGroup(sql, instanceId, chat);
  const people = await asStored(sql, instanceId, group.participants, participants);
  await sql.query(
    `UPDATE chat_groups SET participants = $3::jsonb, told_at = $4, fact_at = $5, updated_at = $4
     WHERE instance_id = $1 AND jid = $2`,
    [instanceId, chat, JSON.stringify(afterAction(group.participants, action, people)), now, at],
  );
}

/** People by the names under which they are stored: the phone of an anonymous id may have been learnt since. */
async function asStored(
  sql: Sql,
  instanceId: string,
  participants: GroupInfo['participants'],
  people: readonly string[],
): Promise<string[]> {
  const named = [...participants.map(({ jid }) => jid), ...people].map((jid) => ({ instanceId, jid }));
  const book = await readPhones(sql, named);
  const known = (jid: string) => knownJid(book, { instanceId, jid });
  const stored = new Map(participants.map(({ jid }) => [known(jid), jid]));
  return people.map((jid) => stored.get(known(jid)) ?? jid);
}
