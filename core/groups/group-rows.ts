import type { InstanceScope } from '../access/instance-scope.ts';
import type { GroupInfo, GroupParticipant } from '../network/actions.ts';
import type { Sql } from '../platform/database/db.ts';

/** A row of `chat_groups`. */
export interface GroupRow {
  jid: string;
  name: string;
  description: string;
  owner_jid: string | null;
  group_created_at: Date | null;
  announce: boolean;
  locked: boolean;
  participants: GroupParticipant[];
  told_at: Date;
  updated_at: Date;
}

export const GROUP_COLUMNS = `jid, name, description, owner_jid, group_created_at, announce, locked, participants,
  told_at, updated_at`;

export async function readGroup(sql: Sql, instanceId: string, jid: string): Promise<GroupRow | null> {
  const found = await sql.query<GroupRow>(
    `SELECT ${GROUP_COLUMNS} FROM chat_groups WHERE instance_id = $1 AND jid = $2`,
    [instanceId, jid],
  );
  return found.rows[0] ?? null;
}

/** When the network was asked about a group, and whether the group was stored before. */
export interface Asked {
  askedAt: Date;
  wasStored: boolean;
}

/**
 * Stores a group whole. A fact (`toldAt` by our clock, `at` by the network's) that is older than the last one is a
 * repeat and passed over. So is an answer of the network that was asked for before a fact was recorded: that fact is
 * newer, or is followed by the one that this answer already knows of. A group that was stored when the network was asked
 * and is not any more stays away: a fact said that the account was taken out of it. Nothing is stored of an instance that
 * is gone.
 */
export async function saveGroup(
  sql: Sql,
  scope: InstanceScope,
  group: GroupInfo,
  when: { toldAt: Date; at: Date } | Asked,
): Promise<void> {
  const isFact = 'toldAt' in when;
  await sql.query({
    name: 'chat-groups-save',
    text: SAVE,
    values: [
      scope.instanceId,
      scope.companyId,
      group.jid,
      group.name,
      group.description,
      group.owner,
      group.created_at === null ? null : new Date(group.created_at),
      group.announce,
      group.locked,
      JSON.stringify(group.participants),
      isFact ? when.toldAt : when.askedAt,
      isFact ? when.at : '-infinity',
      isFact,
      !isFact && when.wasStored,
    ],
  });
}

const SAVE = `
INSERT INTO chat_groups AS g (instance_id, company_id, jid, name, description, owner_jid, group_created_at, announce,
  locked, participants, told_at, fact_at, updated_at)
SELECT id, company_id, $3, $4, $5, $6, $7::timestamptz, $8, $9, $10::jsonb, $11::timestamptz, $12::timestamptz,
  $11::timestamptz
FROM instances WHERE id = $1 AND company_id = $2
  AND (NOT $14 OR EXISTS (SELECT FROM chat_groups WHERE instance_id = $1 AND jid = $3)) FOR KEY SHARE
ON CONFLICT (instance_id, jid) DO UPDATE SET name = excluded.name, description = excluded.description,
  owner_jid = excluded.owner_jid, group_created_at = excluded.group_created_at, announce = excluded.announce,
  locked = excluded.locked, participants = excluded.participants, told_at = excluded.told_at,
  fact_at = greatest(g.fact_at, excluded.fact_at), updated_at = excluded.updated_at
WHERE CASE WHEN $13 THEN g.fact_at <= excluded.fact_at ELSE g.told_at <= excluded.told_at END`;

/**
 * The account is in it no longer. As an answer of the network, which was asked at `askedAt`, that holds unless a fact has
 * come since: the account may be in it again.
 */
export async function removeGroup(
  sql: Sql,
  instanceId: string,
  jid: string,
  askedAt: Date | null = null,
): Promise<void> {
  await sql.query(
    `DELETE FROM chat_groups WHERE instance_id = $1 AND jid = $2 AND told_at <= coalesce($3, 'infinity'::timestamptz)`,
    [instanceId, jid, askedAt],
  );
}
