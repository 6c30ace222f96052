import { apiError } from '@posthorn/contract/api-error.ts';
import type { CreateUserBody, UserDto } from '@posthorn/contract/messaging/users.ts';
import { FREE_LIMITS } from '../../access/free-limits.ts';
import { lockPrincipal } from '../../access/lock-principal.ts';
import type { Principal } from '../../access/principal.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { AccountDeps } from '../deps.ts';
import { releaseAddress } from '../mailbox/release-address.ts';
import { mailboxFull } from '../mailbox-full.ts';
import { INVITE_LINK_DAYS, writePasswordLink } from '../passwords/password-link.ts';
import { refuseKnownEmail, uniqueError } from '../unique-error.ts';
import { USER_COLUMNS, type UserRow, userView } from './user-view.ts';

type CreateUserDeps = Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'mails' | 'settings'>;

/**
 * A user of the company: with a password the owner chose, or invited by a link that lets them choose one
 * (ACC-35). Throws 409 EMAIL_ALREADY_REGISTERED; 403 PLAN_LIMIT_REACHED, counted under a lock on the
 * company so that two at once can't both be the last; 429 RATE_LIMITED when the mailbox got too many invites.
 */
export async function createUser(
  deps: CreateUserDeps,
  input: CreateUserBody & { principal: Principal; traceId: string | null },
): Promise<UserDto> {
  await refuseKnownEmail(deps, input.email);
  const asker = { key: `user ${input.principal.userId}`, isTrusted: true };
  const passwordHash = input.password ? await deps.passwords.hashPassword(input.password, asker) : null;
  try {
    return await deps.db.transaction((sql) => create(deps, sql, { ...input, passwordHash }));
  } catch (cause) {
    throw uniqueError(cause) ?? cause;
  }
}

async function create(
  deps: CreateUserDeps,
  sql: Sql,
  input: CreateUserBody & { principal: Principal; passwordHash: string | null; traceId: string | null },
): Promise<UserDto> {
  const { principal, passwordHash, traceId } = input;
  const { companyId } = principal;
  const now = deps.clock.now();
  await lockPrincipal(sql, principal);
  await releaseAddress(sql, { email: input.email, now });
  const companyName = await takePlace(sql, companyId);
  const { rows } = await sql.query<UserRow>(
    `INSERT INTO users (company_id, email, name, role, password_hash, password_changed_at, email_verified_at,
                        created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $6, $6)
     RETURNING ${USER_COLUMNS}`,
    [
      companyId,
      input.email,
      input.name,
      input.role,
      passwordHash,
      now,
      // With a password the owner vouches for the address, which proves nothing and requires an owner whose own is
      // verified; an invited user proves it by the link.
      passwordHash && principal.emailVerified ? now : null,
    ],
  );
  const user = oneRow(rows);
  await recordAudit(sql, {
    companyId,
    userId: principal.userId,
    tokenId: principal.tokenId,
    action: passwordHash ? 'user.created' : 'user.invited',
    detail: { user_id: user.id, role: user.role },
    traceId,
    at: now,
  });
  if (!passwordHash) {
    const link = await writePasswordLink(sql, {
      userId: user.id,
      companyId,
      purpose: 'invite',
      frontendUrl: deps.settings.frontendUrl,
      now,
      ttlMs: INVITE_LINK_DAYS * DAY_MS,
    });
    const refused = await deps.mails.queue(sql, {
      ...mails.invite({ name: user.name, company: companyName, link: link!, days: INVITE_LINK_DAYS }),
      to: user.email,
      kind: 'invite',
      companyId,
      traceId,
    });
    if (refused) throw mailboxFull(refused);
  }
  return userView(user);
}

/** Locks the company and returns its name. Throws PLAN_LIMIT_REACHED when it has no place left. */
async function takePlace(sql: Sql, companyId: number): Promise<string> {
  const { rows } = await sql.query<{ name: string; max_users: number | null }>(
    'SELECT name, max_users FROM companies WHERE id = $1 FOR UPDATE',
    [companyId],
  );
  const counted = await sql.query<{ users: number }>(
    'SELECT count(*) AS users FROM users WHERE company_id = $1',
    [companyId],
  );
  const limit = rows[0]?.max_users ?? FREE_LIMITS.users;
  if (oneRow(counted.rows).users >= limit)
    throw apiError('PLAN_LIMIT_REACHED', { message: `your plan allows ${limit} users` });
  return oneRow(rows).name;
}
