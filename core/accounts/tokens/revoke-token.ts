import { apiError } from '@posthorn/contract/api-error.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { AccountDeps } from '../deps.ts';

/** Ends a key at once, everywhere. Throws 404 NOT_FOUND for an unknown, foreign or revoked one. */
export async function revokeToken(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'forget'>,
  input: {
    companyId: number;
    userId: number;
    byTokenId: number | null;
    tokenId: number;
    traceId: string | null;
  },
): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const now = deps.clock.now();
    const { rowCount } = await sql.query(
      'UPDATE api_tokens SET revoked_at = $3 WHERE company_id = $1 AND id = $2 AND revoked_at IS NULL',
      [input.companyId, input.tokenId, now],
    );
    if (rowCount === 0) throw apiError('NOT_FOUND');
    await forgetCached(sql, `token:${input.tokenId}`);
    await recordAudit(sql, {
      companyId: input.companyId,
      userId: input.userId,
      tokenId: input.byTokenId,
      action: 'token.revoked',
      detail: { token_id: input.tokenId },
      traceId: input.traceId,
      at: now,
    });
  });
  deps.forget(`token:${input.tokenId}`);
}
