import { isGroupJid, isLidJid, isUserJid, type Jid } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import type { GroupInfo, GroupParticipant, ParticipantAction } from '../network/actions.ts';

const NAME_MAX_CHARS = 256;
const DESCRIPTION_MAX_CHARS = 4096;
/** No network has larger ones; a list of strangers' length must not become a row of any size. */
const PARTICIPANTS_MAX = 4096;

const person = z.string().refine((jid) => isUserJid(jid) || isLidJid(jid));
const cut = (maxChars: number) =>
  z.string().transform((text) => text.slice(0, maxChars).toWellFormed().replaceAll('\u0000', '\ufffd'));

const participant: z.ZodType<GroupParticipant> = z.object({
  jid: person,
  role: z.enum(['member', 'admin', 'superadmin']).catch('member'),
});

/** Parses a group of the network into one that can be stored: cuts long names, drops participants without a valid JID. */
export const storableGroup: z.ZodType<GroupInfo> = z.object({
  jid: z.string().refine(isGroupJid),
  name: cut(NAME_MAX_CHARS).catch(''),
  description: cut(DESCRIPTION_MAX_CHARS).catch(''),
  owner: person.nullable().catch(null),
  created_at: z.number().min(0).max(8.64e15).nullable().catch(null),
  announce: z.boolean().catch(false),
  locked: z.boolean().catch(false),
  participants: z
    .array(z.unknown())
    .catch([])
    .transform((list) => list.slice(0, PARTICIPANTS_MAX).flatMap(participantOf)),
});

function participantOf(value: unknown): GroupParticipant[] {
  const parsed = participant.safeParse(value);
  return parsed.success ? [parsed.data] : [];
}

/** Parses a change of a group's settings; only what was given changes. */
export const groupChange = z.object({
  name: cut(NAME_MAX_CHARS).optional().catch(undefined),
  description: cut(DESCRIPTION_MAX_CHARS).optional().catch(undefined),
  announce: z.boolean().optional().catch(undefined),
  locked: z.boolean().optional().catch(undefined),
});

/** The people of a list who can be named. */
export function peopleOf(list: readonly unknown[]): Jid[] {
  return list
    .slice(0, PARTICIPANTS_MAX)
    .flatMap((jid) => (typeof jid === 'string' && (isUserJid(jid) || isLidJid(jid)) ? [jid] : []));
}

/** The participants after something was done to some of them. */
export function afterAction(
  participants: readonly GroupParticipant[],
  action: ParticipantAction,
  people: readonly Jid[],
): GroupParticipant[] {
  const meant = new Set(people);
  if (action === 'remove') return participants.filter(({ jid }) => !meant.has(jid));
  if (action === 'add') {
    const there = new Set(participants.map(({ jid }) => jid));
    const added = [...meant].filter((jid) => !there.has(jid));
    return [...participants, ...added.map((jid): GroupParticipant => ({ jid, role: 'member' }))];
  }
  return participants.map(({ jid, role }): GroupParticipant => {
    if (!meant.has(jid)) return { jid, role };
    if (action === 'demote') return { jid, role: 'member' };
    return { jid, role: role === 'superadmin' ? role : 'admin' };
  });
}
