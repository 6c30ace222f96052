import { apiError } from '@posthorn/contract/api-error.ts';
import type { OAuthProvider, OAuthProviders, ProviderName } from './provider.ts';

/** The provider a path names. Throws 400 OAUTH_PROVIDER_INVALID or 503 OAUTH_PROVIDER_DISABLED. */
export function requireProvider(
  providers: OAuthProviders,
  name: string,
): { name: ProviderName; provider: OAuthProvider } {
  if (name !== 'google' && name !== 'github') throw apiError('OAUTH_PROVIDER_INVALID');
  const provider = providers[name];
  if (!provider) throw apiError('OAUTH_PROVIDER_DISABLED');
  return { name, provider };
}
