import type { Sql } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { takeMailSlot } from './mail-budget.ts';
import type { MailContent } from './mail-content.ts';

/** The content of a sealed row of `mails`. */
export interface SealedMail extends MailContent {
  to: string;
}

/** Asks for a password reset; the worker finds out whether somebody has that address (ACC-16). */
export interface SealedResetRequest {
  resetFor: string;
}

export interface MailQueue {
  /**
   * Writes the mail in the caller's transaction. `kind` names the template, for people and metrics, and
   * what the mailbox may get of it (mail-budget.ts). Null when it was written; else nothing was, and there
   * is room again after these seconds.
   */
  queue(
    sql: Sql,
    mail: MailContent & { to: string; kind: string; companyId: number; traceId: string | null },
  ): Promise<{ retryAfterS: number } | null>;
  /** The same single insert whether or not the address is known, so that neither result nor timing tells. */
  queueResetRequest(sql: Sql, request: { email: string; traceId: string | null }): Promise<void>;
}

export function createMailQueue(deps: { cipher: Cipher; clock: Clock }): MailQueue {
  async function insert(
    sql: Sql,
    row: { companyId: number | null; kind: string; sealed: Buffer; traceId: string | null },
  ): Promise<void> {
    await sql.query(
      `WITH mail AS (
         INSERT INTO mails (company_id, kind, sealed, next_attempt_at, trace_id, created_at)
         VALUES ($1, $2, $3, $4, $5, $4)
         RETURNING 1
       )
       SELECT pg_notify('mail', '') FROM mail`,
      [row.companyId, row.kind, row.sealed, deps.clock.now(), row.traceId],
    );
  }
  return {
    async queue(sql, { to, subject, text, html, kind, companyId, traceId }) {
      const refused = await takeMailSlot(deps, sql, { to, kind });
      if (!refused)
        await insert(sql, {
          companyId,
          kind,
          sealed: deps.cipher.seal({ to, subject, text, html } satisfies SealedMail),
          traceId,
        });
      return refused;
    },
    queueResetRequest: (sql, { email, traceId }) =>
      insert(sql, {
        companyId: null,
        kind: RESET_REQUEST,
        sealed: deps.cipher.seal({ resetFor: email } satisfies SealedResetRequest),
        traceId,
      }),
  };
}

export const RESET_REQUEST = 'password_reset_request';
