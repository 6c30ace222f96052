import type { AdminInstance } from '@posthorn/contract/messaging/admin.ts';
import type { QueryResultRow } from 'pg';
import type { Db } from '../platform/database/db.ts';
import { cutPage } from '../platform/database/paging.ts';
import type { InstanceState } from './transitions.ts';

export interface InstanceFilter {
  company_id?: number | undefined;
  state?: InstanceState | undefined;
  driver?: string | undefined;
  /** How the name, or the phone, begins. */
  search?: string | undefined;
  /** Only those older than this one. */
  before?: string | undefined;
  limit: number;
}

/** The instances of all companies, newest first (their ids are time-ordered): for superadmins. */
export async function listAllInstances(
  deps: { db: Db },
  filter: InstanceFilter,
): Promise<{ data: AdminInstance[]; next_cursor: string | null }> {
  // A search that looks like no phone is no phone: a name may have digits.
  const digits = /^[+\d\s().-]*$/.test(filter.search ?? '') ? filter.search?.replace(/\D/g, '') : '';
  const { rows } = await deps.db.query<Row>(LIST, [
    filter.before ?? null,
    filter.company_id ?? null,
    filter.state ?? null,
    filter.driver ?? null,
    filter.search || null,
    digits || null,
    filter.limit + 1,
  ]);
  const { page, last } = cutPage(rows, filter.limit);
  return { data: page.map(view), next_cursor: last?.id ?? null };
}

type Row = QueryResultRow &
  Omit<AdminInstance, 'connected_at' | 'created_at' | 'updated_at'> & {
    connected_at: Date | null;
    created_at: Date;
    updated_at: Date;
  };

function view(row: Row): AdminInstance {
  return {
    ...row,
    connected_at: row.connected_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

// A bound in place of "no cursor", so that the primary key is walked from there in either case.
const LIST = `
SELECT i.id, i.company_id, c.name AS company_name, i.name, i.driver, i.state, i.phone, i.jid, i.push_name,
       i.connected_at, i.last_error, i.restriction, i.proxy_shown AS proxy, i.created_at, i.updated_at
FROM instances i JOIN companies c ON c.id = i.company_id
WHERE i.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND ($2::integer IS NULL OR i.company_id = $2)
  AND ($3::text IS NULL OR i.state = $3)
  AND ($4::text IS NULL OR i.driver = $4)
  AND ($5::text IS NULL OR starts_with(lower(i.name), lower($5)) OR starts_with(i.phone, $6))
ORDER BY i.id DESC LIMIT $7`;
