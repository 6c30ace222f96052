import { apiError } from '@posthorn/contract/api-error.ts';
import { generateRandomCodeVerifier } from 'oauth4webapi';
import { MINUTE_MS } from '../../platform/durations.ts';
import type { AccountDeps } from '../deps.ts';
import { hashSecret, newSecret } from '../secret-digest.ts';
import type { OAuthProviders } from './provider.ts';
import { requireProvider } from './require-provider.ts';

/** Minutes within which a login at a provider must return. */
export const OAUTH_STATE_TTL_MINUTES = 10;

/**
 * Begins a login at a provider: the URL for the browser, and a secret for its cookie, so that nobody can finish in
 * another's browser a login that they began in their own. A browser that has a cookie keeps it (two tabs). Throws
 * 400 OAUTH_PROVIDER_INVALID; 503 OAUTH_PROVIDER_DISABLED, SERVICE_UNAVAILABLE (provider unreachable).
 */
export async function beginOAuthLogin(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'cipher'> & { providers: OAuthProviders },
  input: { provider: string; browserSecret: string | undefined },
): Promise<{ redirectTo: string; browserSecret: string }> {
  const { name, provider } = requireProvider(deps.providers, input.provider);
  const state = newSecret();
  const nonce = newSecret();
  const codeVerifier = generateRandomCodeVerifier();
  const browserSecret = input.browserSecret ?? newSecret();
  const url = await provider.authorizationUrl({ state, nonce, codeVerifier }).catch((cause) => {
    throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '10' } });
  });
  const expiresAt = new Date(deps.clock.now().getTime() + OAUTH_STATE_TTL_MINUTES * MINUTE_MS);
  await deps.db.query(
    `INSERT INTO oauth_states (state_hash, provider, browser_hash, secrets, expires_at)
     VALUES ($1, $2, $3, $4, $5)`,
    [
      hashSecret(state),
      name,
      hashSecret(browserSecret),
      deps.cipher.seal({ nonce, codeVerifier } satisfies StateSecrets),
      expiresAt,
    ],
  );
  return { redirectTo: url.href, browserSecret };
}

/** The sealed content of a row of `oauth_states`. */
export interface StateSecrets {
  nonce: string;
  codeVerifier: string;
}
