import { isGroupJid } from '@posthorn/contract/jid.ts';
import { groupChange, peopleOf, storableGroup } from '@posthorn/core/groups/group.ts';
import { type GroupFact, recordGroupFacts } from '@posthorn/core/groups/record-group-facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import { isAddress, sanitizeDate } from './sanitize.ts';

async function record(
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
  facts: readonly GroupFact[],
): Promise<unknown> {
  const now = deps.clock.now();
  return recordGroupFacts(
    deps,
    scope,
    facts.map((fact) => sanitize(fact, now)).filter((fact) => fact !== null),
  );
}

/** The functions that record facts about groups. */
export const groupRecorders = { group: record, group_changed: record, group_participants: record };

/** The storable part of a fact; null when it names no group, or says nothing. */
function sanitize(fact: GroupFact, now: Date): GroupFact | null {
  const at = sanitizeDate(fact.at, now);
  if (fact.kind === 'group') {
    const group = storableGroup.safeParse(fact.group);
    return group.success ? { kind: 'group', group: group.data, at } : null;
  }
  if (!isAddress(fact.chat) || !isGroupJid(fact.chat)) return null;
  const { chat } = fact;
  const by = fact.by === null ? null : (peopleOf([fact.by])[0] ?? null);
  if (fact.kind === 'group_participants') {
    const participants = peopleOf(fact.participants);
    if (participants.length === 0) return null;
    return { kind: fact.kind, chat, by, action: fact.action, participants, at };
  }
  const parsed = groupChange.parse(fact);
  const change = Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined));
  return Object.keys(change).length === 0 ? null : { kind: fact.kind, chat, by, ...change, at };
}
