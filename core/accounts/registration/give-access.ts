import type { Sql } from '../../platform/database/db.ts';
import type { AccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { writeEmailCode } from '../mailbox/email-code.ts';
import { type CreatedKey, createToken } from '../tokens/create-token.ts';

/** The name of the key that a registration gives. */
const BOOTSTRAP_TOKEN_NAME = 'Bootstrap key';

/** Gives a new owner a first API key and the code that proves the mailbox. Part of the caller's transaction. */
export async function giveAccess(
  deps: Pick<AccountDeps, 'clock' | 'digest'>,
  sql: Sql,
  input: { user: AccountUser; traceId: string | null },
): Promise<{ token: CreatedKey; code: string }> {
  const owner = { userId: input.user.id, companyId: input.user.company_id };
  const token = await createToken(deps, sql, {
    ...owner,
    name: BOOTSTRAP_TOKEN_NAME,
    traceId: input.traceId,
  });
  const code = await writeEmailCode(deps, sql, { ...owner, purpose: 'verify' });
  return { token, code };
}
