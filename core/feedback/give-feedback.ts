import { apiError } from '@posthorn/contract/api-error.ts';
import type { FeedbackBody } from '@posthorn/contract/messaging/feedback.ts';
import type { Principal } from '../access/principal.ts';
import { PLATFORM_COMPANY_ID } from '../access/superadmin.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import { mails } from '../mail/mails.ts';
import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { DAY_MS, HOUR_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';

export interface FeedbackDeps {
  db: Db;
  clock: Clock;
  mails: MailQueue;
  settings: { superadminEmails: readonly string[] };
}

/** Feedback that one user may give in a day. */
const PER_DAY = 100;

/**
 * Keeps what a user says and mails it to every superadmin, as far as their mailboxes have room: what is not mailed is
 * kept all the same. Throws 503 FEEDBACK_FAILED when it could not be kept.
 */
export async function giveFeedback(
  deps: FeedbackDeps,
  input: { principal: Principal; body: FeedbackBody; traceId: string },
): Promise<{ id: number }> {
  const { principal, body, traceId } = input;
  await requireRoom(deps, principal);
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

/** One user can't fill the table. */
async function requireRoom({ db, clock }: FeedbackDeps, principal: Principal): Promise<void> {
  const since = new Date(clock.now().getTime() - DAY_MS);
  const { rows } = await db.query(
    'SELECT 1 FROM feedback WHERE company_id = $1 AND user_id = $2 AND created_at > $3 LIMIT $4',
    [principal.companyId, principal.userId, since, PER_DAY],
  );
  if (rows.length >= PER_DAY)
    throw apiError('RATE_LIMITED', {
      message: `at most ${PER_DAY} messages a day, try again later`,
      headers: { 'retry-after': String(HOUR_MS / 1000) },
    });
}
