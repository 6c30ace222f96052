import { recordAudit } from '../../audit/record-audit.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { AccountDeps } from '../deps.ts';
import { newApiKey } from './api-key.ts';

export interface CreatedKey {
  id: number;
  name: string;
  key: string;
  last4: string;
  userId: number;
  createdAt: Date;
}

/** A new API key of a user, which acts with the user's role. Part of the caller's transaction. */
export async function createToken(
  deps: Pick<AccountDeps, 'clock'>,
  sql: Sql,
  input: {
    companyId: number;
    userId: number;
    name: string;
    /** The key that asked, when a key did. */
    byTokenId?: number | null;
    traceId: string | null;
  },
): Promise<CreatedKey> {
  const { key, hash, last4 } = newApiKey();
  const createdAt = deps.clock.now();
  const { rows } = await sql.query<{ id: number }>(
    `INSERT INTO api_tokens (company_id, user_id, name, key_hash, last4, created_at)
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
    [input.companyId, input.userId, input.name, hash, last4, createdAt],
  );
  const id = oneRow(rows).id;
  await recordAudit(sql, {
    companyId: input.companyId,
    userId: input.userId,
    tokenId: input.byTokenId ?? null,
    action: 'token.created',
    detail: { token_id: id, name: input.name },
    traceId: input.traceId,
    at: createdAt,
  });
  return { id, name: input.name, key, last4, userId: input.userId, createdAt };
}
