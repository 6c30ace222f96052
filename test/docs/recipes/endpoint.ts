import type { Edit, TestRun } from './edits.ts';

/** "Add an endpoint" with its own example, `GET /v1/tokens/{id}`. */
export const endpointEdits: readonly Edit[] = [
  {
    file: 'contract/messaging/tokens.ts',
    before: '  revoke: route(\n',
    add: `  get: route(
    { auth: 'any', access: 'owner', notFound: 'NOT_FOUND', summary: 'Read an API key' },
    { method: 'GET', path: '/v1/tokens/:id', responses: { 200: token } },
  ),
`,
  },
  {
    file: 'core/accounts/tokens/find-token.ts',
    create: `import { apiError } from '@posthorn/contract/api-error.ts';
import type { Token } from '@posthorn/contract/messaging/tokens.ts';
import { reachOf } from '../../access/company-scope.ts';
import type { Principal } from '../../access/principal.ts';
import type { Orm } from '../../platform/database/orm.ts';
import { ApiTokenSchema } from '../entities.ts';

/** One key that still works, without the key itself. Throws 404 NOT_FOUND. */
export async function findToken(
  deps: { orm: Orm },
  input: { principal: Principal; tokenId: number },
): Promise<Token> {
  const token = await reachOf(deps.orm, input.principal).findOne(ApiTokenSchema, {
    id: input.tokenId,
    revokedAt: null,
  });
  if (!token) throw apiError('NOT_FOUND');
  return {
    id: token.id,
    name: token.name,
    last4: token.last4,
    user_id: token.userId,
    created_at: token.createdAt.toISOString(),
    last_used_at: token.lastUsedAt?.toISOString() ?? null,
  };
}
`,
  },
  {
    file: 'server/messaging/tokens-routes.ts',
    before: "import { listTokens } from '@posthorn/core/accounts/tokens/list-tokens.ts';\n",
    add: "import { findToken } from '@posthorn/core/accounts/tokens/find-token.ts';\n",
  },
  {
    file: 'server/messaging/tokens-routes.ts',
    before: '    async revoke({',
    add: `    async get({ principal, params }) {
      return { status: 200, body: await findToken(deps, { principal, tokenId: Number(params.id) }) };
    },
`,
  },
  {
    file: 'test/contract/routes.test.ts',
    before: "  ['DELETE /v1/tokens/:id',",
    add: "  ['GET /v1/tokens/:id', 'any', 'owner', [200]],\n",
  },
  {
    file: 'test/contract/promised-routes.ts',
    before: "      'DELETE /v1/tokens/{}',\n",
    add: "      'GET /v1/tokens/{}',\n",
  },
  {
    file: 'cli/sections/account.ts',
    before: "  calls('tokens revoke',",
    add: "  calls('tokens get', 'tokens.get'),\n",
  },
  {
    file: 'test/accounts/find-token.test.ts',
    create: `import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newOwner } from './support/people.ts';

describe('GET /v1/tokens/{id}', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  test('200: the key as the list shows it, and 404 for everybody else’s', async () => {
    const [owner, other] = [await newOwner(server), await newOwner(server)];
    const { body: list } = await server.api('GET', '/v1/tokens', { jwt: owner.jwt });
    const [listed] = list.data;
    const answer = await server.api('GET', \`/v1/tokens/\${listed.id}\`, { jwt: owner.jwt });
    assert.deepEqual([answer.status, answer.body], [200, listed]);
    refused(await server.api('GET', \`/v1/tokens/\${listed.id}\`, { jwt: other.jwt }), 404, 'NOT_FOUND');
  });
});
`,
  },
];

/** Tests that then have to pass: the tables of routes and those of the resource. */
export const endpointTests: readonly TestRun[] = [
  { files: ['test/contract/routes.test.ts', 'test/accounts/find-token.test.ts'], passes: 'GET /v1/tokens' },
  { files: ['test/contract/promised-routes.test.ts'], passes: 'users and tokens' },
];
