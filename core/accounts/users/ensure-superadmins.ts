import { isSuperadmin, PLATFORM_COMPANY_ID } from '../../access/superadmin.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import { beforeFirst } from '../../platform/before-first.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { AccountDeps } from '../deps.ts';
import { releaseAddress } from '../mailbox/release-address.ts';
import { INVITE_LINK_DAYS, writePasswordLink } from '../passwords/password-link.ts';

/**
 * Makes a user of company 1 for each address of SUPERADMIN_EMAILS that nobody has yet, without a password,
 * and mails a link to choose one (ACC-38). So nobody becomes a superadmin by registering an address
 * that is on the list. Run at start, by any number of processes.
 */
export async function ensureSuperadmins(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'log' | 'mails' | 'settings'>,
): Promise<void> {
  for (const email of deps.settings.superadminEmails) {
    const made = await deps.db.transaction(async (sql) => {
      const now = deps.clock.now();
      await releaseAddress(sql, { email, now });
      const { rows } = await sql.query<{ id: number }>(
        `INSERT INTO users (company_id, email, name, role, is_superadmin, password_changed_at, created_at, updated_at)
         VALUES ($1, $2, $3, 'superadmin', true, $4, $4, $4)
         ON CONFLICT (lower(email)) DO NOTHING RETURNING id`,
        [PLATFORM_COMPANY_ID, email, beforeFirst(email, '@'), now],
      );
      const userId = rows[0]?.id;
      if (userId === undefined) return false;
      const link = await writePasswordLink(sql, {
        userId,
        companyId: PLATFORM_COMPANY_ID,
        purpose: 'invite',
        frontendUrl: deps.settings.frontendUrl,
        now,
        ttlMs: INVITE_LINK_DAYS * DAY_MS,
      });
      await deps.mails.queue(sql, {
        ...mails.invite({
          name: beforeFirst(email, '@'),
          company: 'the platform',
          link: link!,
          days: INVITE_LINK_DAYS,
        }),
        to: email,
        kind: 'invite',
        companyId: PLATFORM_COMPANY_ID,
        traceId: null,
      });
      await recordAudit(sql, {
        companyId: PLATFORM_COMPANY_ID,
        userId: null,
        action: 'user.invited',
        detail: { user_id: userId, role: 'superadmin' },
        traceId: null,
        at: now,
      });
      return true;
    });
    if (!made) await warnWhenTaken(deps, email);
  }
}

/** An address on the list that belongs to anybody else gives no rights: warn, or nobody notices. */
async function warnWhenTaken(deps: Pick<AccountDeps, 'db' | 'log'>, email: string): Promise<void> {
  const { rows } = await deps.db.query<{ id: number; companyId: number; role: string; flag: boolean }>(
    `SELECT id, company_id AS "companyId", role, is_superadmin AS flag FROM users WHERE lower(email) = $1`,
    [email],
  );
  const [user] = rows;
  if (user && !isSuperadmin({ ...user, email }, [email]))
    deps.log.warn(
      { user_id: user.id, company_id: user.companyId },
      'an address of SUPERADMIN_EMAILS belongs to a user who is no superadmin, and gives no rights: remove that user, and start again',
    );
}
