import type { Token } from '@posthorn/contract/messaging/tokens.ts';
import type { Orm } from '../../platform/database/orm.ts';
import { offsetOf } from '../../platform/database/paging.ts';
import { ApiTokenSchema } from '../entities.ts';

/** The keys of a company that still work, newest first, without the keys themselves. */
export async function listTokens(
  deps: { orm: Orm },
  input: { companyId: number; page: number; limit: number },
): Promise<{ data: Token[]; total: number }> {
  const em = deps.orm.forCompany(input.companyId);
  const [tokens, total] = await em.findAndCount(
    ApiTokenSchema,
    { revokedAt: null },
    { orderBy: { id: 'desc' }, limit: input.limit, offset: offsetOf(input) },
  );
  return {
    total,
    data: tokens.map((token) => ({
      id: token.id,
      name: token.name,
      last4: token.last4,
      user_id: token.userId,
      created_at: token.createdAt.toISOString(),
      last_used_at: token.lastUsedAt?.toISOString() ?? null,
    })),
  };
}
