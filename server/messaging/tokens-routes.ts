import type { tokens } from '@posthorn/contract/messaging/tokens.ts';
import { lockPrincipal } from '@posthorn/core/access/lock-principal.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import { createToken } from '@posthorn/core/accounts/tokens/create-token.ts';
import { listTokens } from '@posthorn/core/accounts/tokens/list-tokens.ts';
import { revokeToken } from '@posthorn/core/accounts/tokens/revoke-token.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export interface TokensRoutesDeps extends Pick<AccountDeps, 'db' | 'clock' | 'forget'> {
  orm: Orm;
}

/** API keys (ACC-32, ACC-34). */
export function tokensRoutes(deps: TokensRoutesDeps): Handlers<typeof tokens> {
  return {
    async list({ principal, query }) {
      return paged(query, await listTokens(deps, { companyId: principal.companyId, ...query }));
    },
    async create({ principal, body, traceId }) {
      const { companyId, userId, tokenId } = principal;
      const created = await deps.db.transaction(async (sql) => {
        await lockPrincipal(sql, principal);
        return createToken(deps, sql, { companyId, userId, name: body.name, byTokenId: tokenId, traceId });
      });
      return {
        status: 201,
        body: {
          id: created.id,
          name: created.name,
          last4: created.last4,
          user_id: created.userId,
          created_at: created.createdAt.toISOString(),
          last_used_at: null,
          token: created.key,
        },
        headers: { 'cache-control': 'no-store' },
      };
    },
    async revoke({ principal, params, traceId }) {
      const { companyId, userId, tokenId } = principal;
      await revokeToken(deps, { companyId, userId, byTokenId: tokenId, tokenId: Number(params.id), traceId });
      return { status: 204 };
    },
  };
}
