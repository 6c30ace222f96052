import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { pageOf, pageQuery, personRef, refreshQuery, timestamp } from '../fields.ts';
import {
  GROUP_DESCRIPTION_MAX_CHARS,
  GROUP_NAME_MAX_CHARS,
  GROUP_PARTICIPANTS_PER_REQUEST_MAX,
  LIST_LIMIT,
  URL_MAX_CHARS,
} from '../limits.ts';
import { c, NETWORK_ERRORS, route } from '../route-meta.ts';

const role = z.enum(['member', 'admin', 'superadmin']);
const groupName = z.string().trim().min(1).max(GROUP_NAME_MAX_CHARS);
const people = boundedArray(personRef, { max: GROUP_PARTICIPANTS_PER_REQUEST_MAX });

const settings = {
  jid: z.string(),
  name: z.string(),
  description: z.string(),
  owner_jid: z.string().nullable(),
  created_at: timestamp
    .nullable()
    .meta({ description: 'When the group was created; null when the network does not report it' }),
  announce: z.boolean().meta({ description: 'Whether only admins may send' }),
  locked: z.boolean().meta({ description: 'Whether only admins may change the name and the description' }),
  updated_at: timestamp.meta({ description: 'When the network last reported the group' }),
};

export const group = z
  .object({
    ...settings,
    participants: z.array(
      z.object({
        jid: z.string().meta({ description: 'The JID that the network reports; may be an anonymous id' }),
        phone: z.string().meta({ description: 'The phone number; empty when unknown' }),
        role,
      }),
    ),
  })
  .meta({ id: 'Group' });
export type Group = z.infer<typeof group>;

export const groupSummary = z
  .object({
    ...settings,
    participant_count: z.int(),
    role: role.meta({ description: 'The role of this account in the group' }),
  })
  .meta({ id: 'GroupSummary' });
export type GroupSummary = z.infer<typeof groupSummary>;

const reason = z.string().meta({
  description:
    'The reason, in stable snake_case, e.g. no_account, not_allowed, already_in, not_in, left_recently, group_full',
});

export const createGroupBody = z
  .object({ name: groupName, participants: people.default([]) })
  .meta({ id: 'CreateGroupRequest' });
export type CreateGroupBody = z.infer<typeof createGroupBody>;

export const groupCreated = group
  .extend({
    refused: z
      .array(z.object({ jid: z.string(), reason }))
      .meta({ description: 'The participants whom the network did not add; they can be invited' }),
  })
  .meta({ id: 'GroupCreated' });
export type GroupCreated = z.infer<typeof groupCreated>;

export const updateGroupBody = z
  .object({
    name: groupName.optional(),
    description: z.string().max(GROUP_DESCRIPTION_MAX_CHARS).optional(),
    announce: z.boolean().optional(),
    locked: z.boolean().optional(),
  })
  .meta({ id: 'UpdateGroupRequest' });
export type UpdateGroupBody = z.infer<typeof updateGroupBody>;

export const participantsBody = z
  .object({
    add: people.default([]),
    remove: people.default([]),
    promote: people.default([]),
    demote: people.default([]),
  })
  .meta({ id: 'GroupParticipantsRequest' });
export type ParticipantsBody = z.infer<typeof participantsBody>;

const participantOutcome = z.object({
  jid: z.string(),
  action: z.enum(['add', 'remove', 'promote', 'demote']),
  done: z.boolean(),
  reason: reason.nullable(),
});
export type ParticipantOutcome = z.infer<typeof participantOutcome>;

export const participantsChanged = z
  .object({ jid: z.string(), results: z.array(participantOutcome) })
  .meta({ id: 'GroupParticipantsChanged' });
export type ParticipantsChanged = z.infer<typeof participantsChanged>;

export const groupInvite = z
  .object({ jid: z.string(), code: z.string(), link: z.string() })
  .meta({ id: 'GroupInvite' });
export type GroupInvite = z.infer<typeof groupInvite>;

const invite = z.string().trim().min(1).max(URL_MAX_CHARS);
export const joinGroupBody = z
  .object({
    code: invite.optional().meta({ description: 'The code of the invite; needed unless link is given' }),
    link: invite.optional().meta({ description: 'The invite link, in place of code' }),
  })
  .meta({ id: 'JoinGroupRequest' });
export type JoinGroupBody = z.infer<typeof joinGroupBody>;

export const groupLeft = z.object({ jid: z.string(), left: z.literal(true) }).meta({ id: 'GroupLeft' });
export type GroupLeft = z.infer<typeof groupLeft>;

const GROUPS = '/v1/instances/:instanceId/groups' as const;
const GROUP = `${GROUPS}/:groupJid` as const;
const ALL = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND' } as const;
const ASKED = ['NOT_FOUND', ...NETWORK_ERRORS] as const;
const PEOPLE = [...ASKED, 'INVALID_PHONE', 'INVALID_RECIPIENT'] as const;
/** Groups that an instance is in. Reading them needs no network. */
export const groups = {
  create: route(
    { ...ALL, errors: PEOPLE, summary: 'Create a group' },
    { method: 'POST', path: GROUPS, body: createGroupBody, responses: { 201: groupCreated } },
  ),
  list: route(
    { ...ALL, errors: ASKED, summary: 'List the groups of an instance', description: 'Sorted by name.' },
    {
      method: 'GET',
      path: GROUPS,
      query: z.object({ refresh: refreshQuery, ...pageQuery(LIST_LIMIT) }),
      responses: { 200: pageOf(groupSummary).meta({ id: 'Groups' }) },
    },
  ),
  join: route(
    {
      ...ALL,
      errors: [...ASKED, 'CONFLICT'],
      summary: 'Join a group by its invite',
      description: 'BAD_REQUEST for an invalid or revoked invite, CONFLICT for a full group.',
    },
    { method: 'POST', path: `${GROUPS}/join`, body: joinGroupBody, responses: { 200: group } },
  ),
  get: route(
    { ...ALL, errors: ASKED, summary: 'Read a group' },
    { method: 'GET', path: GROUP, query: z.object({ refresh: refreshQuery }), responses: { 200: group } },
  ),
  update: route(
    {
      ...ALL,
      errors: ASKED,
      summary: 'Change a group',
      description: 'Changes only the given fields. FORBIDDEN when only admins may change them.',
    },
    { method: 'PATCH', path: GROUP, body: updateGroupBody, responses: { 200: group } },
  ),
  changeParticipants: route(
    {
      ...ALL,
      errors: PEOPLE,
      summary: 'Add, remove, promote and demote participants',
      description:
        'Works in the order add, promote, demote, remove and returns an outcome for each participant. FORBIDDEN unless the instance is an admin.',
    },
    {
      method: 'POST',
      path: `${GROUP}/participants`,
      body: participantsBody,
      responses: { 200: participantsChanged },
    },
  ),
  invite: route(
    {
      ...ALL,
      errors: ASKED,
      summary: 'Read the invite link of a group',
      description: 'FORBIDDEN unless the instance is an admin.',
    },
    { method: 'GET', path: `${GROUP}/invite`, responses: { 200: groupInvite } },
  ),
  revokeInvite: route(
    {
      ...ALL,
      errors: ASKED,
      summary: 'Void the invite link of a group and get a new one',
      description: 'FORBIDDEN unless the instance is an admin.',
    },
    { method: 'POST', path: `${GROUP}/invite`, body: c.noBody(), responses: { 200: groupInvite } },
  ),
  leave: route(
    { ...ALL, errors: ASKED, summary: 'Leave a group' },
    { method: 'POST', path: `${GROUP}/leave`, body: c.noBody(), responses: { 200: groupLeft } },
  ),
} satisfies AppRouter;
