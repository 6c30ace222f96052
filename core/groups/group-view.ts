import type { Group, GroupSummary } from '@posthorn/contract/messaging/groups.ts';
import type { InstanceScope } from '../access/instance-scope.ts';
import { type Person, type PhoneBook, readPhones } from '../lids/read-phones.ts';
import type { GroupInfo } from '../network/actions.ts';
import type { Sql } from '../platform/database/db.ts';
import type { GroupRow } from './group-rows.ts';

/** A group as the API shows it, with the phones of its people as far as they are known. */
export async function viewGroup(sql: Sql, scope: InstanceScope, row: GroupRow): Promise<Group> {
  const { instanceId } = scope;
  const people = row.participants.map(({ jid }): Person => ({ instanceId, jid }));
  const phoneOf = await readPhones(sql, people);
  return {
    ...settingsOf(row),
    participants: row.participants.map(({ jid, role }) => ({
      jid,
      phone: phoneOf({ instanceId, jid }),
      role,
    })),
  };
}

/** Groups of a list, each with the role that the account has in it. */
export async function viewSummaries(
  sql: Sql,
  { instanceId }: InstanceScope,
  rows: readonly GroupRow[],
): Promise<GroupSummary[]> {
  const people = rows.flatMap(({ participants }) =>
    participants.map(({ jid }): Person => ({ instanceId, jid })),
  );
  const phoneOf = await readPhones(sql, people);
  const own = await sql.query<{ phone: string | null }>('SELECT phone FROM instances WHERE id = $1', [
    instanceId,
  ]);
  const phone = own.rows[0]?.phone ?? '';
  return rows.map((row) => ({
    ...settingsOf(row),
    participant_count: row.participants.length,
    role: roleOf(row, phone, phoneOf, instanceId),
  }));
}

function roleOf(row: GroupRow, phone: string, phoneOf: PhoneBook, instanceId: string): GroupSummary['role'] {
  const own = row.participants.find(({ jid }) => phone !== '' && phoneOf({ instanceId, jid }) === phone);
  return own?.role ?? 'member';
}

function settingsOf(row: GroupRow) {
  return {
    jid: row.jid,
    name: row.name,
    description: row.description,
    owner_jid: row.owner_jid,
    created_at: row.group_created_at?.toISOString() ?? null,
    announce: row.announce,
    locked: row.locked,
    updated_at: row.updated_at.toISOString(),
  };
}

/** The network's answer in the form of a stored row. */
export function rowOf(group: GroupInfo, at: Date): GroupRow {
  const { owner, created_at, ...rest } = group;
  return {
    ...rest,
    owner_jid: owner,
    group_created_at: created_at === null ? null : new Date(created_at),
    told_at: at,
    updated_at: at,
  };
}
