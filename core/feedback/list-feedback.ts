import { apiError } from '@posthorn/contract/api-error.ts';
import type { FeedbackEntry } from '@posthorn/contract/messaging/feedback.ts';
import type { QueryResultRow } from 'pg';
import type { Db, Sql } from '../platform/database/db.ts';
import { cutPage, shortened } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';

/** Lists feedback of all companies, newest first (LIM-10): for superadmins. `next_before` null: no more. */
export async function listFeedback(
  deps: { db: Db },
  filter: {
    state?: string | undefined;
    kind?: string | undefined;
    before?: number | undefined;
    limit: number;
  },
): Promise<{ data: FeedbackEntry[]; next_before: number | null }> {
  const query = `${SELECT} WHERE ($1::integer IS NULL OR f.id < $1) AND ($2::text IS NULL OR f.state = $2)
    AND ($3::text IS NULL OR f.kind = $3) ORDER BY f.id DESC LIMIT $4`;
  const { rows } = await deps.db.query<Row & { fits: boolean; listed: number }>(
    `SELECT * FROM ${shortened(query, 'octet_length(message)', 'id DESC')} AS entries ORDER BY id DESC`,
    [filter.before ?? null, filter.state ?? null, filter.kind ?? null, filter.limit + 1],
  );
  const { page, last } = cutPage(rows, filter.limit, rows[0]?.listed);
  return { data: page.map(({ fits: _, listed: __, ...row }) => view(row)), next_before: last?.id ?? null };
}

/** Throws 404 NOT_FOUND. */
export async function changeFeedback(
  deps: { db: Db; clock: Clock },
  input: { id: number; state: FeedbackEntry['state'] },
): Promise<FeedbackEntry> {
  await deps.db.query('UPDATE feedback SET state = $2, updated_at = $3 WHERE id = $1 AND state <> $2', [
    input.id,
    input.state,
    deps.clock.now(),
  ]);
  return findFeedback(deps.db, input.id);
}

async function findFeedback(sql: Sql, id: number): Promise<FeedbackEntry> {
  const { rows } = await sql.query<Row>(`${SELECT} WHERE f.id = $1`, [id]);
  if (!rows[0]) throw apiError('NOT_FOUND');
  return view(rows[0]);
}

type Row = QueryResultRow &
  Omit<FeedbackEntry, 'created_at' | 'updated_at'> & { created_at: Date; updated_at: Date };

function view(row: Row): FeedbackEntry {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

const SELECT = `
SELECT f.id, f.company_id, c.name AS company_name, f.user_id, u.email AS user_email, f.kind, f.message, f.page,
       f.trace_id, f.state, f.created_at, f.updated_at
FROM feedback f JOIN companies c ON c.id = f.company_id LEFT JOIN users u ON u.id = f.user_id`;
