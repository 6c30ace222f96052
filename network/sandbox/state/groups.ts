/** Groups: who is in, who may do what, and what their participants hear of it. */
import { randomBytes } from 'node:crypto';
import { GROUP_SERVER, type Jid } from '@posthorn/contract/jid.ts';
import type { ParticipantAction } from '@posthorn/core/network/actions.ts';
import { groupInfo, tellFact } from './group-facts.ts';
import type { Group, Phone } from './model.ts';
import { phoneFor, sharedJid } from './phones.ts';
import { groupRecord } from './records.ts';
import type { World } from './world.ts';

/** As the real network has it. */
export const GROUP_CAPACITY = 1024;

export interface GroupChange {
  name?: string | undefined;
  description?: string | undefined;
  announce?: boolean | undefined;
  locked?: boolean | undefined;
}

export interface GroupFacts extends GroupChange {
  jid?: string | undefined;
  name: string;
  participants: readonly string[];
  admins: readonly string[];
  capacity?: number | undefined;
}

/** Somebody for whom it was not done, and why. */
export interface Refused {
  phone: Phone;
  reason: string;
}

/**
 * Makes a group, or gives the group of this JID other people and settings, without an author. Admins are participants.
 */
export function makeGroup(world: World, facts: GroupFacts): Group {
  const known = facts.jid === undefined ? undefined : world.groups.get(facts.jid);
  const admins = new Set(facts.admins.map((number) => phoneFor(world, number)));
  const wanted = new Set([...facts.participants.map((number) => phoneFor(world, number)), ...admins]);
  if (!known) {
    const group = addGroup(world, null, facts);
    for (const phone of wanted) group.participants.add(phone);
    for (const phone of admins) group.admins.add(phone);
    welcome(world, group, null, wanted);
    world.journal.append(groupRecord(group));
    return group;
  }
  changeGroup(world, known, null, facts);
  const apply = (action: ParticipantAction, these: ReadonlySet<Phone>, without: ReadonlySet<Phone>) => {
    const phones = [...these].filter((phone) => !without.has(phone));
    changeParticipants(world, known, null, action, phones);
  };
  apply('remove', known.participants, wanted);
  apply('add', wanted, known.participants);
  apply('demote', known.admins, admins);
  apply('promote', admins, known.admins);
  return known;
}

/** A phone makes a group and owns it. Phones that have blocked it are not added. */
export function createGroup(
  world: World,
  owner: Phone,
  input: { name: string; participants: readonly Phone[] },
): { group: Group; refused: Refused[] } {
  const group = addGroup(world, owner, input);
  group.participants.add(owner);
  group.admins.add(owner);
  const refused: Refused[] = [];
  const added = new Set<Phone>();
  for (const phone of input.participants) {
    const reason = phone === owner || added.has(phone) ? null : refusalOf(group, owner, 'add', phone);
    if (reason) refused.push({ phone, reason });
    else if (phone !== owner) added.add(phone);
    if (added.has(phone)) group.participants.add(phone);
  }
  world.journal.append(groupRecord(group));
  tellFact(world, [owner], { kind: 'group', group: groupInfo(group) }, group.participants);
  if (added.size > 0) welcome(world, group, owner, added);
  return { group, refused };
}

function addGroup(
  world: World,
  owner: Phone | null,
  facts: GroupChange & { name: string; jid?: string | undefined; capacity?: number | undefined },
): Group {
  const group: Group = {
    jid: facts.jid ?? `1203630${String(world.groups.size + 1).padStart(11, '0')}@${GROUP_SERVER}`,
    name: facts.name,
    description: facts.description ?? '',
    owner,
    createdAt: Date.now(),
    announce: facts.announce ?? false,
    locked: facts.locked ?? false,
    code: newInviteCode(),
    capacity: facts.capacity ?? GROUP_CAPACITY,
    participants: new Set(),
    admins: new Set(),
  };
  world.groups.set(group.jid, group);
  return group;
}

export function isAdmin(group: Group, phone: Phone): boolean {
  return group.admins.has(phone);
}

/** False in a group in which only admins send, for everybody else; reacting is everybody's. */
export function maySend(group: Group, phone: Phone, type: string): boolean {
  return !group.announce || isAdmin(group, phone) || type === 'reaction';
}

/** Whether this phone may make the change: settings are the admins', names too in a locked group. */
export function mayChange(group: Group, phone: Phone, change: GroupChange): boolean {
  if (isAdmin(group, phone)) return true;
  return !group.locked && change.announce === undefined && change.locked === undefined;
}

/** Applies the differences and tells all participants. `by` null: no author. */
export function changeGroup(world: World, group: Group, by: Phone | null, change: GroupChange): void {
  const { name, description, announce, locked } = change;
  const changed = {
    ...(name !== undefined && name !== group.name ? { name } : {}),
    ...(description !== undefined && description !== group.description ? { description } : {}),
    ...(announce !== undefined && announce !== group.announce ? { announce } : {}),
    ...(locked !== undefined && locked !== group.locked ? { locked } : {}),
  };
  if (Object.keys(changed).length === 0) return;
  Object.assign(group, changed);
  world.journal.append(groupRecord(group));
  const fact = { kind: 'group_changed' as const, chat: group.jid, by: jidOf(by), ...changed };
  tellFact(world, group.participants, fact, by ? [by] : []);
}

/** Does it for each who can be, and tells participants; those whom it was not done for are the answer. */
export function changeParticipants(
  world: World,
  group: Group,
  by: Phone | null,
  action: ParticipantAction,
  phones: readonly Phone[],
): Refused[] {
  const refused: Refused[] = [];
  const done = new Set<Phone>();
  for (const phone of new Set(phones)) {
    const reason = refusalOf(group, by, action, phone);
    if (reason) refused.push({ phone, reason });
    else {
      apply(group, action, phone);
      done.add(phone);
    }
  }
  if (done.size === 0) return refused;
  world.journal.append(groupRecord(group));
  if (action === 'add') welcome(world, group, by, done);
  else {
    // For a removed participant this is the last fact about the group.
    tellFact(
      world,
      new Set([...group.participants, ...done]),
      factOf(group, by, action, done),
      by ? [by, ...done] : done,
    );
  }
  return refused;
}

function refusalOf(group: Group, by: Phone | null, action: ParticipantAction, phone: Phone): string | null {
  const isIn = group.participants.has(phone);
  if (action === 'add') {
    if (isIn) return 'already_in';
    if (by && phone.blocked.has(by.phone)) return 'not_allowed';
    return group.participants.size >= group.capacity ? 'group_full' : null;
  }
  if (!isIn) return 'not_in';
  return phone === group.owner && action !== 'promote' && by !== phone && by !== null ? 'not_allowed' : null;
}

function apply(group: Group, action: ParticipantAction, phone: Phone): void {
  if (action === 'add') group.participants.add(phone);
  if (action === 'remove') group.participants.delete(phone);
  if (action === 'promote') group.admins.add(phone);
  else if (action !== 'add') group.admins.delete(phone);
}

/** Newcomers get the group itself; then all participants learn who came. */
function welcome(world: World, group: Group, by: Phone | null, phones: ReadonlySet<Phone>): void {
  tellFact(world, phones, { kind: 'group', group: groupInfo(group) }, group.participants);
  tellFact(world, group.participants, factOf(group, by, 'add', phones), by ? [by, ...phones] : phones);
}

function factOf(group: Group, by: Phone | null, action: ParticipantAction, phones: Iterable<Phone>) {
  const participants = [...phones].map(sharedJid);
  return { kind: 'group_participants', chat: group.jid, by: jidOf(by), action, participants } as const;
}

function jidOf(phone: Phone | null): Jid | null {
  return phone && sharedJid(phone);
}

/** A code that nobody can guess, as links carry it. */
export function newInviteCode(): string {
  return randomBytes(16).toString('base64url');
}

/** Voids the invite link of before. */
export function revokeInvite(world: World, group: Group): string {
  group.code = newInviteCode();
  world.journal.append(groupRecord(group));
  return group.code;
}

/** Enters by invite; a string is the reason of a refusal. A phone that is in the group already stays in it. */
export function joinByCode(world: World, phone: Phone, code: string): Group | string {
  const group = [...world.groups.values()].find((one) => one.code === code);
  if (!group) return 'invite_invalid';
  if (group.participants.has(phone)) return group;
  const [refused] = changeParticipants(world, group, phone, 'add', [phone]);
  return refused ? refused.reason : group;
}

/** The last admin who leaves hands the group to the participant who has been in it longest. */
export function leaveGroup(world: World, group: Group, phone: Phone): void {
  changeParticipants(world, group, phone, 'remove', [phone]);
  const [first] = group.participants;
  if (first && group.admins.size === 0) changeParticipants(world, group, null, 'promote', [first]);
}
