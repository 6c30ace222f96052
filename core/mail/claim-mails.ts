import type { QueryResultRow } from 'pg';
import type { Sql } from '../platform/database/db.ts';
import { holderIsGone } from '../workers/pulse.ts';

export interface ClaimedMail extends QueryResultRow {
  id: number;
  kind: string;
  sealed: Buffer;
  /** This one included. */
  attempts: number;
  created_at: Date;
  trace_id: string | null;
}

/** A mail that a live worker claimed and did not settle within this time may be claimed by another. */
const LEASE_MS = 120_000;

/**
 * Claims due mails for one attempt each; two workers never get the same one. Those of a dead worker are due at
 * once.
 */
export async function claimMails(
  sql: Sql,
  input: { now: Date; limit: number; worker?: number | null },
): Promise<ClaimedMail[]> {
  const { rows } = await sql.query<ClaimedMail>(
    `UPDATE mails SET attempts = attempts + 1, next_attempt_at = $2, claimed_by = $4
     WHERE id IN (
       SELECT id FROM mails
       WHERE failed_at IS NULL AND (next_attempt_at <= $1 OR ${holderIsGone('claimed_by')})
       ORDER BY next_attempt_at LIMIT $3 FOR UPDATE SKIP LOCKED
     )
     RETURNING id, kind, sealed, attempts, created_at, trace_id`,
    [input.now, new Date(input.now.getTime() + LEASE_MS), input.limit, input.worker ?? null],
  );
  return rows;
}

/** Sent: nothing of it is kept. */
export async function dropMail(sql: Sql, id: number): Promise<void> {
  await sql.query('DELETE FROM mails WHERE id = $1', [id]);
}

export async function retryMail(sql: Sql, input: { id: number; at: Date; error: string }): Promise<void> {
  await sql.query('UPDATE mails SET next_attempt_at = $2, last_error = $3, claimed_by = NULL WHERE id = $1', [
    input.id,
    input.at,
    input.error,
  ]);
}

/** Given up: the row stays for people to see, its content is removed. */
export async function failMail(sql: Sql, input: { id: number; at: Date; error: string }): Promise<void> {
  await sql.query(`UPDATE mails SET failed_at = $2, last_error = $3, sealed = '' WHERE id = $1`, [
    input.id,
    input.at,
    input.error,
  ]);
}
