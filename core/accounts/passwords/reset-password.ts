import { apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { findAccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { takeOver } from '../mailbox/take-over.ts';
import { hashSecret } from '../secret-digest.ts';
import { setPassword } from './set-password.ts';

/**
 * Sets a new password for the bearer of a link. The link is consumed, and every session and JWT ends. The bearer
 * reads the mailbox: when that was never proven before, the account becomes theirs alone (take-over.ts). It also
 * verifies the e-mail of a user who had no password, as an invited one; who registered with one types the code. Throws 400 RESET_TOKEN_INVALID or RESET_TOKEN_EXPIRED.
 */
export async function resetPassword(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'mails' | 'forget'>,
  input: { token: string; password: string; address: string; traceId: string | null },
): Promise<void> {
  const tokenHash = hashSecret(input.token);
  // Checked before the password is hashed: a guessed token costs no argon2id.
  const found = await deps.db.query<{ user_id: number; expires_at: Date }>(
    'SELECT user_id, expires_at FROM password_links WHERE token_hash = $1',
    [tokenHash],
  );
  if (!found.rows[0]) throw apiError('RESET_TOKEN_INVALID');
  if (found.rows[0].expires_at <= deps.clock.now()) throw apiError('RESET_TOKEN_EXPIRED');
  const passwordHash = await deps.passwords.hashPassword(input.password, {
    key: input.address,
    isTrusted: true,
  });
  const changed = await deps.db.transaction(async (sql) => {
    // The user's row is locked before the link's, in the same order everywhere.
    const user = await findAccountUser(sql, oneRow(found.rows).user_id, { lock: true });
    // A deleted company keeps no address that is not proven (release-address.ts), and a link of before would prove it.
    const spent = await sql.query<{ purpose: 'reset' | 'invite' }>(
      `DELETE FROM password_links l USING companies c
       WHERE l.token_hash = $1 AND c.id = l.company_id AND c.status <> 'deleted' RETURNING l.purpose`,
      [tokenHash],
    );
    const link = spent.rows[0];
    if (!link || !user) throw apiError('RESET_TOKEN_INVALID');
    const now = deps.clock.now();
    await takeOver(deps, sql, { user, by: link.purpose, traceId: input.traceId });
    await setPassword(sql, { userId: user.id, passwordHash, keepJti: null, now });
    if (user.password_hash === null)
      await sql.query('UPDATE users SET email_verified_at = coalesce(email_verified_at, $2) WHERE id = $1', [
        user.id,
        now,
      ]);
    await recordAudit(sql, {
      companyId: user.company_id,
      userId: user.id,
      action: 'password.reset',
      detail: { by: link.purpose },
      traceId: input.traceId,
      at: now,
    });
    if (link.purpose === 'reset')
      await deps.mails.queue(sql, {
        ...mails.passwordChanged({ name: user.name }),
        to: user.email,
        kind: 'password_changed',
        companyId: user.company_id,
        traceId: input.traceId,
      });
    return user;
  });
  deps.forget(`user:${changed.id}`, `company:${changed.company_id}`);
}
