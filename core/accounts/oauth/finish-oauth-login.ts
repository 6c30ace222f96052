import { apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { beforeFirst } from '../../platform/before-first.ts';
import type { Sql } from '../../platform/database/db.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { ACCOUNT_USER_COLUMNS, type AccountUser, isUsersSuperadmin } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { releaseAddress } from '../mailbox/release-address.ts';
import { hashSecret, newSecret } from '../secret-digest.ts';
import { issueSession, type SessionGrant } from '../sessions/issue-session.ts';
import type { StateSecrets } from './begin-oauth-login.ts';
import { linkIdentity } from './link-identity.ts';
import type { OAuthProviders, ProviderIdentity, ProviderName } from './provider.ts';
import { requireProvider } from './require-provider.ts';

type FinishDeps = Pick<
  AccountDeps,
  'db' | 'clock' | 'log' | 'cipher' | 'jwt' | 'mails' | 'settings' | 'forget'
> & {
  providers: OAuthProviders;
};

export type OAuthOutcome = { is: 'session'; grant: SessionGrant } | { is: 'pending'; token: string };

/** Minutes in which a new user may choose the company's name. */
export const PENDING_TTL_MINUTES = 15;

/**
 * The callback of a provider (ACC-29). The state is valid once, in the browser that began. A known identity gets
 * its session; a verified e-mail that is registered gets the provider linked and its session; a new one gets a
 * pending token. Throws OAUTH_PROVIDER_INVALID, OAUTH_PROVIDER_DISABLED, OAUTH_STATE_INVALID,
 * OAUTH_EMAIL_UNVERIFIED, OAUTH_UPSTREAM_FAILED, ACCOUNT_DELETED, COMPANY_SUSPENDED.
 */
export async function finishOAuthLogin(
  deps: FinishDeps,
  input: {
    provider: string;
    params: URLSearchParams;
    browserSecret: string | undefined;
    traceId: string | null;
  },
): Promise<OAuthOutcome> {
  const { name, provider } = requireProvider(deps.providers, input.provider);
  const state = input.params.get('state');
  const { browserSecret } = input;
  const secrets = await takeState(deps, { state, provider: name, browserSecret });
  if (!state || !browserSecret || !secrets) throw apiError('OAUTH_STATE_INVALID');
  const identity = await provider.identify({ params: input.params, state, ...secrets }).catch((cause) => {
    throw apiError('OAUTH_UPSTREAM_FAILED', { cause });
  });
  const { email } = identity;
  if (!email || !identity.emailVerified) throw apiError('OAUTH_EMAIL_UNVERIFIED');
  const outcome = await deps.db.transaction((sql) =>
    settle(deps, sql, {
      provider: name,
      identity: { ...identity, email },
      browserSecret,
      traceId: input.traceId,
    }),
  );
  if (outcome.is === 'session') {
    const { user_id, company_id } = outcome.grant.session;
    deps.forget(`user:${user_id}`, `company:${company_id}`);
  }
  return outcome;
}

async function takeState(
  deps: FinishDeps,
  asked: { state: string | null; provider: ProviderName; browserSecret: string | undefined },
): Promise<StateSecrets | null> {
  if (!asked.state || !asked.browserSecret) return null;
  const { rows } = await deps.db.query<{ secrets: Buffer }>(
    `DELETE FROM oauth_states WHERE state_hash = $1 AND provider = $2 AND browser_hash = $3 AND expires_at > $4
     RETURNING secrets`,
    [hashSecret(asked.state), asked.provider, hashSecret(asked.browserSecret), deps.clock.now()],
  );
  return rows[0] ? deps.cipher.open<StateSecrets>(rows[0].secrets) : null;
}

async function settle(
  deps: FinishDeps,
  sql: Sql,
  input: {
    provider: ProviderName;
    identity: ProviderIdentity & { email: string };
    browserSecret: string;
    traceId: string | null;
  },
): Promise<OAuthOutcome> {
  const { provider, identity, traceId } = input;
  const known = await findUser(
    sql,
    'u.id = (SELECT user_id FROM oauth_identities WHERE provider = $1 AND subject = $2)',
    [provider, identity.subject],
  );
  const user = known ?? (await findByAddress(deps, sql, identity.email));
  if (!user) return { is: 'pending', token: await writePending(deps, sql, input) };
  if (user.company_status === 'deleted') throw apiError('ACCOUNT_DELETED');
  if (user.company_status !== 'active' && !isUsersSuperadmin(user, deps.settings.superadminEmails))
    throw apiError('COMPANY_SUSPENDED');
  const linked = known
    ? user
    : await linkIdentity(deps, sql, { user, provider, subject: identity.subject, traceId });
  await recordAudit(sql, {
    companyId: user.company_id,
    userId: user.id,
    action: 'session.login',
    detail: { method: provider },
    traceId,
    at: deps.clock.now(),
  });
  return { is: 'session', grant: await issueSession(deps, sql, linked) };
}

/** By a provider's verified address. */
async function findByAddress(deps: FinishDeps, sql: Sql, email: string): Promise<AccountUser | null> {
  await releaseAddress(sql, { email, now: deps.clock.now() });
  return findUser(sql, 'lower(u.email) = $1', [email]);
}

async function findUser(sql: Sql, where: string, values: unknown[]): Promise<AccountUser | null> {
  const { rows } = await sql.query<AccountUser>(
    `SELECT ${ACCOUNT_USER_COLUMNS} FROM users u JOIN companies c ON c.id = u.company_id
     WHERE ${where} FOR UPDATE OF u`,
    values,
  );
  return rows[0] ?? null;
}

/** The sealed content of a row of `oauth_pending`. */
export interface PendingProfile {
  email: string;
  name: string;
  /** As `browserHashOf` gives it. Absent in those of the release before. */
  browserHash?: string;
}

/** The browser that logged in at the provider. */
export function browserHashOf(browserSecret: string): string {
  return hashSecret(browserSecret).toString('base64url');
}

async function writePending(
  deps: FinishDeps,
  sql: Sql,
  input: { provider: ProviderName; identity: ProviderIdentity & { email: string }; browserSecret: string },
): Promise<string> {
  const { provider, identity } = input;
  const token = newSecret();
  const browserHash = browserHashOf(input.browserSecret);
  const name = identity.name?.trim().slice(0, 255) || beforeFirst(identity.email, '@');
  await sql.query(
    `INSERT INTO oauth_pending (token_hash, provider, subject, profile, expires_at) VALUES ($1, $2, $3, $4, $5)`,
    [
      hashSecret(token),
      provider,
      identity.subject,
      deps.cipher.seal({ email: identity.email, name, browserHash } satisfies PendingProfile),
      new Date(deps.clock.now().getTime() + PENDING_TTL_MINUTES * MINUTE_MS),
    ],
  );
  return token;
}
