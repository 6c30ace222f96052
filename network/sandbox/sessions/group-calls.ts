/** A driver's calls about groups. */

import type { ParticipantRefusal } from '@posthorn/core/network/actions.ts';
import { z } from 'zod/v4';
import { groupInfo } from '../state/group-facts.ts';
import {
  changeGroup,
  changeParticipants,
  createGroup,
  isAdmin,
  joinByCode,
  leaveGroup,
  mayChange,
  type Refused,
  revokeInvite,
} from '../state/groups.ts';
import type { Group, Phone, Session } from '../state/model.ts';
import { findPhone } from '../state/phones.ts';
import type { World } from '../state/world.ts';
import { type Call, CallRefused, callerOf } from './call.ts';

const person = z.string().regex(/^\d{5,20}@(s\.whatsapp\.net|lid)$/);
const groupArgs = z.object({ group: z.string() });
const createArgs = z.object({ name: z.string().min(1).max(255), participants: z.array(person).max(1024) });
const changeArgs = groupArgs.extend({
  name: z.string().min(1).max(255).optional(),
  description: z.string().max(4096).optional(),
  announce: z.boolean().optional(),
  locked: z.boolean().optional(),
});
const participantsArgs = groupArgs.extend({
  action: z.enum(['add', 'remove', 'promote', 'demote']),
  participants: z.array(person).max(1024),
});

export const groupCalls = {
  groups_list(world, session) {
    const phone = callerOf(session);
    return [...world.groups.values()].filter((group) => group.participants.has(phone)).map(groupInfo);
  },

  group_info: (world, session, args) => groupInfo(ownGroup(world, session, args).group),

  group_create(world, session, args) {
    const { name, participants } = createArgs.parse(args);
    const { phones, refusals } = named(world, participants);
    const made = createGroup(world, callerOf(session), { name, participants: phones });
    return { group: groupInfo(made.group), refused: refusals(made.refused) };
  },

  group_update(world, session, args) {
    const { group, phone } = ownGroup(world, session, args);
    const { group: _, ...change } = changeArgs.parse(args);
    if (!mayChange(group, phone, change)) throw new CallRefused('not_admin');
    changeGroup(world, group, phone, change);
    return groupInfo(group);
  },

  group_participants(world, session, args) {
    const { group, phone } = ownedGroup(world, session, args);
    const { action, participants } = participantsArgs.parse(args);
    const { phones, refusals } = named(world, participants);
    const refused = changeParticipants(world, group, phone, action, phones);
    return { group: groupInfo(group), refused: refusals(refused) };
  },

  group_invite: (world, session, args) => ({ code: ownedGroup(world, session, args).group.code }),

  group_revoke_invite: (world, session, args) => ({
    code: revokeInvite(world, ownedGroup(world, session, args).group),
  }),

  group_join(world, session, args) {
    const { code } = z.object({ code: z.string() }).parse(args);
    const joined = joinByCode(world, callerOf(session), code);
    if (typeof joined === 'string') throw new CallRefused(joined);
    return { group: joined.jid };
  },

  group_leave(world, session, args) {
    const { group, phone } = ownGroup(world, session, args);
    leaveGroup(world, group, phone);
    return {};
  },
} satisfies Record<string, Call>;

/** The phones, each with the JID by which it was requested, and the refusals of JIDs without an account. */
function named(world: World, jids: readonly string[]) {
  const found = jids.map((jid) => ({ jid, phone: findPhone(world, jid) }));
  const byPhone = new Map(found.flatMap(({ jid, phone }) => (phone ? [[phone, jid] as const] : [])));
  const nobody = found.flatMap(({ jid, phone }) => (phone ? [] : [{ jid, reason: 'no_account' }]));
  const refusals = (refused: readonly Refused[]): ParticipantRefusal[] => [
    ...nobody,
    ...refused.map(({ phone, reason }) => ({ jid: byPhone.get(phone) ?? phone.jid, reason })),
  ];
  return { phones: [...byPhone.keys()], refusals };
}

/** A group the account is in. */
function ownGroup(world: World, session: Session, args: unknown): { group: Group; phone: Phone } {
  const phone = callerOf(session);
  const group = world.groups.get(groupArgs.parse(args).group);
  if (!group) throw new CallRefused('group_not_found');
  if (!group.participants.has(phone)) throw new CallRefused('not_participant');
  return { group, phone };
}

/** A group the account is an admin of. */
function ownedGroup(world: World, session: Session, args: unknown): { group: Group; phone: Phone } {
  const found = ownGroup(world, session, args);
  if (!isAdmin(found.group, found.phone)) throw new CallRefused('not_admin');
  return found;
}
