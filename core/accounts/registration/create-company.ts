import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { isUnavailable } from '../../platform/database/database-errors.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { AccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { releaseAddress } from '../mailbox/release-address.ts';
import { uniqueError } from '../unique-error.ts';
import { slugOf } from './company-slug.ts';

export interface NewCompany {
  companyName: string;
  ownerEmail: string;
  ownerName: string;
  /** Null: the owner logs in by a social identity. */
  passwordHash: string | null;
  emailVerified: boolean;
  /** The owner's mailbox is proven; an address that counts as verified need not be (quick registration). */
  emailProven: boolean;
  traceId: string | null;
}

/**
 * Creates a company with its owner, in the caller's transaction. Throws 409 EMAIL_ALREADY_REGISTERED, or CONFLICT
 * when the name or the slug is taken; the unique indexes decide, so a race has one winner.
 */
export async function createCompany(
  deps: Pick<AccountDeps, 'clock'>,
  sql: Sql,
  input: NewCompany,
): Promise<AccountUser> {
  const slug = slugOf(input.companyName);
  // To the millisecond, because the JWT's claim is compared with it.
  const now = deps.clock.now();
  try {
    await releaseAddress(sql, { email: input.ownerEmail, now });
    const company = await sql.query<{ id: number }>(
      'INSERT INTO companies (name, slug, created_at, updated_at) VALUES ($1, $2, $3, $3) RETURNING id',
      [input.companyName, slug, now],
    );
    const companyId = oneRow(company.rows).id;
    const user = await sql.query<{ id: number }>(
      `INSERT INTO users (company_id, email, name, role, password_hash, password_changed_at,
                          email_verified_at, email_proven_at, is_founder, created_at, updated_at)
       VALUES ($1, $2, $3, 'owner', $4, $5, $6, $7, true, $5, $5) RETURNING id`,
      [
        companyId,
        input.ownerEmail,
        input.ownerName,
        input.passwordHash,
        now,
        input.emailVerified ? now : null,
        input.emailProven ? now : null,
      ],
    );
    const userId = oneRow(user.rows).id;
    await recordAudit(sql, {
      companyId,
      userId,
      action: 'company.registered',
      traceId: input.traceId,
      at: now,
    });
    return {
      id: userId,
      company_id: companyId,
      email: input.ownerEmail,
      name: input.ownerName,
      role: 'owner',
      is_superadmin: false,
      password_hash: input.passwordHash,
      email_verified: input.emailVerified,
      email_proven: input.emailProven,
      is_founder: true,
      password_changed_at_ms: now.getTime(),
      company_name: input.companyName,
      company_slug: slug,
      company_status: 'active',
    };
  } catch (cause) {
    throw uniqueError(cause) ?? cause;
  }
}

/** Runs a registration; an unexpected error becomes 500 REGISTRATION_FAILED, an unreachable database stays 503. */
export async function asRegistration<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ApiError || isUnavailable(cause)) throw cause;
    throw apiError('REGISTRATION_FAILED', { cause });
  }
}
