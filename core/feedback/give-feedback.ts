import { apiError } from '@posthorn/contract/api-error.ts';
import type { FeedbackBody } from '@posthorn/contract/messaging/feedback.ts';
import type { Principal } from '../access/principal.ts';
import { PLATFORM_COMPANY_ID } from '../access/superadmin.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import { mails } from '../mail/mails.ts';
import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db.ts';
import { oneRow } from '../platform/one-row.ts';

export interface FeedbackDeps {
  db: Db;
  clock: Clock;
  mails: MailQueue;
  settings: { superadminEmails: readonly string[] };
}

/**
 * Keeps what a user says and mails it to every superadmin, as far as their mailboxes have room: what is not mailed is
 * kept all the same. Throws 503 FEEDBACK_FAILED when it could not be kept.
 */
export async function giveFeedback(
  deps: FeedbackDeps,
  input: { principal: Principal; body: FeedbackBody; traceId: string },
): Promise<{ id: number }> {
  const { principal, body, traceId } = input;
  try {
    return await deps.db.transaction(async (sql) => {
      const stored = await sql.query<{ id: number }>(
        `INSERT INTO feedback (company_id, user_id, kind, message, page, trace_id, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING id`,
        [
          principal.companyId,
          principal.userId,
          body.kind,
          body.message,
          body.page || null,
          body.trace_id ?? null,
          deps.clock.now(),
        ],
      );
      const { id } = oneRow(stored.rows);
      const { companyId, userId } = principal;
      const content = mails.feedback({ id, companyId, userId, ...body });
      const superadmins = await sql.query<{ email: string }>(
        `SELECT email FROM users
         WHERE company_id = $1 AND is_superadmin AND role = 'superadmin' AND lower(email) = ANY ($2::text[])
         ORDER BY email`,
        [PLATFORM_COMPANY_ID, deps.settings.superadminEmails],
      );
      for (const { email } of superadmins.rows) {
        const mail = { ...content, to: email, kind: 'feedback', companyId: PLATFORM_COMPANY_ID, traceId };
        await deps.mails.queue(sql, mail);
      }
      return { id };
    });
  } catch (cause) {
    throw apiError('FEEDBACK_FAILED', { cause });
  }
}
