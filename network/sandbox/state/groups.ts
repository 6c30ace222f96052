/** Groups, as far as messages in them need: who is in, and who may pin and delete. */
import { GROUP_SERVER } from '@posthorn/contract/jid.ts';
import type { Group } from './model.ts';
import { phoneFor } from './phones.ts';
import { groupRecord } from './records.ts';
import type { World } from './world.ts';

export interface GroupFacts {
  jid?: string | undefined;
  name: string;
  participants: readonly string[];
  admins: readonly string[];
}

/** Makes a group, or gives the one of this JID other people. Admins are in it. */
export function makeGroup(world: World, facts: GroupFacts): Group {
  const phones = (numbers: readonly string[]) => numbers.map((number) => phoneFor(world, number));
  const admins = phones(facts.admins);
  const group: Group = {
    jid: facts.jid ?? `1203630${String(world.groups.size + 1).padStart(11, '0')}@${GROUP_SERVER}`,
    name: facts.name,
    participants: new Set([...phones(facts.participants), ...admins]),
    admins: new Set(admins),
  };
  world.groups.set(group.jid, group);
  world.journal.append(groupRecord(group));
  return group;
}
