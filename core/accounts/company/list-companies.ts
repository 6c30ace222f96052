import type { CompanyDto } from '@posthorn/contract/messaging/admin.ts';
import type { QueryResultRow } from 'pg';
import type { Db, Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { offsetOf } from '../../platform/database/paging.ts';

interface CompanyRow extends QueryResultRow {
  id: number;
  name: string;
  slug: string;
  status: CompanyDto['status'];
  users: number;
  instances: number;
  created_at: Date;
  deleted_at: Date | null;
}

const COLUMNS = `c.id, c.name, c.slug, c.status, c.created_at, c.deleted_at,
  (SELECT count(*) FROM users u WHERE u.company_id = c.id) AS users,
  (SELECT count(*) FROM instances i WHERE i.company_id = c.id) AS instances`;

/** Every company, newest first: for superadmins. */
export async function listCompanies(
  deps: { db: Db },
  input: { status?: string | undefined; search?: string | undefined; page: number; limit: number },
): Promise<{ data: CompanyDto[]; total: number }> {
  const where = `($1::text IS NULL OR c.status = $1)
    AND ($2::text IS NULL OR strpos(lower(c.name), lower($2)) > 0 OR strpos(c.slug, lower($2)) > 0)`;
  const filter = [input.status ?? null, input.search || null];
  const [page, counted] = await Promise.all([
    deps.db.query<CompanyRow>(
      `SELECT ${COLUMNS} FROM companies c WHERE ${where} ORDER BY c.id DESC LIMIT $3 OFFSET $4`,
      [...filter, input.limit, offsetOf(input)],
    ),
    deps.db.query<{ total: number }>(`SELECT count(*) AS total FROM companies c WHERE ${where}`, filter),
  ]);
  return { data: page.rows.map(companyView), total: oneRow(counted.rows).total };
}

/** One company, or null. */
export async function readCompany(sql: Sql, companyId: number): Promise<CompanyDto | null> {
  const { rows } = await sql.query<CompanyRow>(`SELECT ${COLUMNS} FROM companies c WHERE c.id = $1`, [
    companyId,
  ]);
  return rows[0] ? companyView(rows[0]) : null;
}

function companyView(row: CompanyRow): CompanyDto {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    status: row.status,
    users: row.users,
    instances: row.instances,
    created_at: row.created_at.toISOString(),
    deleted_at: row.deleted_at?.toISOString() ?? null,
  };
}
