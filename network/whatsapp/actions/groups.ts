/** Groups and their participants. */
import { type GroupInfo, type ParticipantRefusal, SendRefused } from '@posthorn/core/network/driver.ts';
import type { LibraryGroup } from '../library-group-types.ts';
import { nameOf, type WhatsAppContext } from '../session-context.ts';
import { groupOf } from '../wire/groups.ts';
import { type Actions, ask } from './action.ts';

type GroupOps =
  | 'groups_list'
  | 'group_info'
  | 'group_create'
  | 'group_update'
  | 'group_participants'
  | 'group_invite'
  | 'group_revoke_invite'
  | 'group_join'
  | 'group_leave';

/** The network's codes in answers about groups. */
const OF_GROUP = { 401: 'not_admin', 403: 'not_participant', 404: 'group_not_found' } as const;
const OF_CHANGE = { ...OF_GROUP, 403: 'not_admin' } as const;
const OF_JOIN = {
  ...{ 400: 'invite_invalid', 401: 'invite_invalid', 404: 'invite_invalid', 406: 'invite_invalid' },
  ...{ 409: 'invite_invalid', 410: 'invite_invalid', 419: 'group_full' },
} as const;
/** The codes for one participant. */
const OF_PARTICIPANT: Readonly<Record<string, string>> = {
  '403': 'not_allowed',
  '404': 'no_account',
  '408': 'left_recently',
  '409': 'already_in',
  '419': 'group_full',
};

export const groupActions: Pick<Actions, GroupOps> = {
  async groups_list(session) {
    const groups = await ask(session, (socket) => socket.groupFetchAllParticipating());
    const told: GroupInfo[] = [];
    for (const group of Object.values(groups)) told.push(await toldOf(session, group));
    return told;
  },

  group_info: (session, { group }) => infoOf(session, group),

  async group_create(session, { name, participants }) {
    const made = await ask(session, (socket) => socket.groupCreate(name, [...participants]));
    const group = await infoOf(session, made.id);
    const asked = await byName(session, participants);
    for (const { jid } of group.participants) asked.delete(jid);
    return { group, refused: [...asked.values()].flat().map((jid) => ({ jid, reason: 'not_allowed' })) };
  },

  async group_update(session, { group, name, description, announce, locked }) {
    await ask(
      session,
      async (socket) => {
        if (name !== undefined) await socket.groupUpdateSubject(group, name);
        if (description !== undefined) await socket.groupUpdateDescription(group, description || undefined);
        if (announce !== undefined)
          await socket.groupSettingUpdate(group, announce ? 'announcement' : 'not_announcement');
        if (locked !== undefined) await socket.groupSettingUpdate(group, locked ? 'locked' : 'unlocked');
      },
      OF_CHANGE,
    );
    return infoOf(session, group);
  },

  async group_participants(session, { group, action, participants }) {
    const outcomes = await ask(
      session,
      (socket) => socket.groupParticipantsUpdate(group, [...participants], action),
      OF_CHANGE,
    ).finally(() => session.groups.changed(group));
    const asked = await byName(session, participants);
    const refused: ParticipantRefusal[] = [];
    for (const { status, jid } of outcomes) {
      if (status === '200' || !jid) continue;
      const known = status === '404' && action !== 'add' ? 'not_in' : OF_PARTICIPANT[status];
      const reason = known ?? 'not_allowed';
      for (const named of asked.get(await nameOf(session, jid)) ?? []) refused.push({ jid: named, reason });
    }
    return { group: await infoOf(session, group), refused };
  },

  group_invite: async (session, { group }) => ({
    code: codeOf(await ask(session, (socket) => socket.groupInviteCode(group), OF_CHANGE)),
  }),

  group_revoke_invite: async (session, { group }) => ({
    code: codeOf(await ask(session, (socket) => socket.groupRevokeInvite(group), OF_CHANGE)),
  }),

  async group_join(session, { code }) {
    const group = await ask(session, (socket) => socket.groupAcceptInvite(code), OF_JOIN);
    if (!group) throw new SendRefused('invite_invalid');
    return { group };
  },

  async group_leave(session, { group }) {
    await ask(session, (socket) => socket.groupLeave(group), OF_GROUP).finally(() =>
      session.groups.changed(group),
    );
    return {};
  },
};

/** People as somebody has named them, by our names for them: an anonymous id and a number may be the same person. */
async function byName(session: WhatsAppContext, people: readonly string[]): Promise<Map<string, string[]>> {
  const named = new Map<string, string[]>();
  for (const jid of people) {
    const name = await nameOf(session, jid);
    named.set(name, [...(named.get(name) ?? []), jid]);
  }
  return named;
}

async function infoOf(session: WhatsAppContext, group: string): Promise<GroupInfo> {
  return toldOf(session, await ask(session, (socket) => socket.groupMetadata(group), OF_GROUP));
}

function toldOf(session: WhatsAppContext, group: LibraryGroup): Promise<GroupInfo> {
  return groupOf(group, (jid, other) => nameOf(session, jid, other));
}

function codeOf(code: string | undefined): string {
  if (!code) throw new SendRefused('not_admin');
  return code;
}
