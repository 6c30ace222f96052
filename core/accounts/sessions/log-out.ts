import { JWT_LIFETIME_S } from '@posthorn/contract/limits.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import type { Principal } from '../../access/principal.ts';
import { familyOf } from '../../access/session-valid.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { findAccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { hashSecret } from '../secret-digest.ts';
import { endSession } from './end-sessions.ts';

/**
 * Ends the session of a JWT, which is every JWT and refresh token of it, and the session of the cookie that was sent
 * along, if it is the same user's. With an API key it ends nothing (ACC-15).
 */
export async function logOut(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'forget'>,
  input: { principal: Principal; refreshToken: string | undefined; traceId: string | null },
): Promise<void> {
  const { companyId, userId, jti } = input.principal;
  if (jti === null) return;
  await deps.db.transaction(async (sql) => {
    const now = deps.clock.now();
    // Nobody holds the JWT meanwhile (lock-principal.ts).
    await findAccountUser(sql, userId, { lock: true });
    // This is the only end of a JWT that outlives its family (ACC-10).
    // Longer than a JWT can live: its own expiry is not known here, and a minute more does no harm.
    await sql.query(
      `INSERT INTO revoked_jwts (jti, company_id, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
      [jti, companyId, new Date(now.getTime() + (JWT_LIFETIME_S + 60) * 1000)],
    );
    const familyId = familyOf(jti);
    if (familyId) await endSession(sql, { userId, familyId, at: now });
    if (input.refreshToken) {
      const { rows } = await sql.query<{ family_id: string }>(
        'SELECT family_id FROM refresh_tokens WHERE token_hash = $1',
        [hashSecret(input.refreshToken)],
      );
      if (rows[0]) await endSession(sql, { userId, familyId: rows[0].family_id, at: now });
    }
    await forgetCached(sql, `user:${userId}`);
    await recordAudit(sql, { companyId, userId, action: 'session.logout', traceId: input.traceId, at: now });
  });
  deps.forget(`user:${userId}`);
}
