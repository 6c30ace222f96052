import { isGroupJid } from '@posthorn/contract/jid.ts';
import { groupChange, groupFacts, peopleOf } from '@posthorn/core/groups/group.ts';
import { type GroupFact, recordGroupFacts } from '@posthorn/core/groups/record-group-facts.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import { isId, sanitizeDate } from './sanitize.ts';

type Told = Extract<NetworkFact, { kind: 'group' | 'group_changed' | 'group_participants' }>;

async function record(deps: ArrivalsDeps, scope: ArrivalsScope, facts: readonly Told[]): Promise<unknown> {
  const now = deps.clock.now();
  return recordGroupFacts(
    deps,
    scope,
    facts.map((fact) => sanitize(fact, now)).filter((fact) => fact !== null),
  );
}

/** The functions that record facts about groups. */
export const groupRecorders = { group: record, group_changed: record, group_participants: record };

/** The storable part of the fact; null if it has no group id or no content. */
function sanitize(fact: Told, now: Date): GroupFact | null {
  const at = sanitizeDate(fact.at, now);
  if (fact.kind === 'group') {
    const group = groupFacts.safeParse(fact.group);
    return group.success ? { kind: 'group', group: group.data, at } : null;
  }
  if (!isId(fact.chat) || !isGroupJid(fact.chat)) return null;
  const { chat } = fact;
  const by = fact.by === null ? null : (peopleOf([fact.by])[0] ?? null);
  if (fact.kind === 'group_participants') {
    const participants = peopleOf(fact.participants);
    if (participants.length === 0) return null;
    return { kind: fact.kind, chat, by, action: fact.action, participants, at };
  }
  const parsed = groupChange.parse(fact);
  const change = Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined));
  return Object.keys(change).length === 0 ? null : { kind: fact.kind, chat, by, change, at };
}
