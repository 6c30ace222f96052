import { apiError } from '@posthorn/contract/api-error.ts';
import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { DAY_MS, MINUTE_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';

/** Sends of one user, in a day of UTC and in any minute (CHT-10). */
export const SENDS_PER_DAY = 50;
const SENDS_PER_MINUTE = 10;

export interface Spent {
  today: number;
  lastMinute: number;
  /** When the oldest send of the last minute was made, in Unix ms. */
  oldestMs: number | null;
}

export type BudgetAnswer =
  | { to: 'send' }
  | { to: 'refuse'; code: 'PLAYGROUND_BUDGET_EXCEEDED' | 'PLAYGROUND_RATE_LIMITED'; retryAfterS: number };

/** Whether one more may be sent now. */
export function judgeBudget(spent: Spent, nowMs: number): BudgetAnswer {
  const inSeconds = (ms: number) => Math.max(1, Math.ceil((ms - nowMs) / 1000));
  if (spent.today >= SENDS_PER_DAY) {
    return { to: 'refuse', code: 'PLAYGROUND_BUDGET_EXCEEDED', retryAfterS: inSeconds(dayEndMs(nowMs)) };
  }
  if (spent.lastMinute >= SENDS_PER_MINUTE) {
    const freeAtMs = (spent.oldestMs ?? nowMs) + MINUTE_MS;
    return { to: 'refuse', code: 'PLAYGROUND_RATE_LIMITED', retryAfterS: inSeconds(freeAtMs) };
  }
  return { to: 'send' };
}

/** The end of the day of UTC. */
export function dayEndMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}

export async function readSpent(sql: Sql, userId: number, nowMs: number): Promise<Spent> {
  const { rows } = await sql.query<{ today: number; last_minute: number; oldest_ms: number | null }>(
    `SELECT count(*) FILTER (WHERE created_at >= $2)::integer AS today,
            count(*) FILTER (WHERE created_at > $3)::integer AS last_minute,
            floor(extract(epoch FROM min(created_at) FILTER (WHERE created_at > $3)) * 1000)::float8 AS oldest_ms
     FROM playground_sends WHERE user_id = $1 AND created_at >= least($2, $3)`,
    [userId, new Date(dayEndMs(nowMs) - DAY_MS), new Date(nowMs - MINUTE_MS)],
  );
  const row = oneRow(rows);
  return { today: row.today, lastMinute: row.last_minute, oldestMs: row.oldest_ms };
}

/**
 * Counts a send before it is made, in the database: neither a restart nor another process gives a new budget. Throws
 * 429 PLAYGROUND_BUDGET_EXCEEDED, PLAYGROUND_RATE_LIMITED with Retry-After.
 */
export async function takeSend(
  deps: { db: Db; clock: Clock },
  send: { id: string; companyId: number; userId: number; phone: string; shownBy: string },
): Promise<void> {
  const now = deps.clock.now();
  await deps.db.transaction(async (sql) => {
    // The sends of one user are counted one after the other.
    await sql.query('SELECT pg_advisory_xact_lock($1, $2)', [ADVISORY_LOCKS.playground, send.userId]);
    const answer = judgeBudget(await readSpent(sql, send.userId, now.getTime()), now.getTime());
    if (answer.to === 'refuse') {
      throw apiError(answer.code, { headers: { 'retry-after': String(answer.retryAfterS) } });
    }
    await sql.query(
      `INSERT INTO playground_sends (id, company_id, user_id, phone, shown_by, created_at)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [send.id, send.companyId, send.userId, send.phone, send.shownBy, now],
    );
  });
}

/** Refunds a send that was refused for its body. */
export async function returnSend(sql: Sql, id: string): Promise<void> {
  await sql.query('DELETE FROM playground_sends WHERE id = $1', [id]);
}
