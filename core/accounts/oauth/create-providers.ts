import type { Config } from '../../platform/config.ts';
import { withoutTrailingSlashes } from '../../platform/http/base-url.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createGithubProvider } from './github-provider.ts';
import { createOpenIdProvider } from './openid-provider.ts';
import type { OAuthProviders, ProviderCredentials, ProviderName } from './provider.ts';

/** The social logins of the settings: a provider is null unless enabled and given both credentials (ACC-27). */
export function createOAuthProviders(config: Config, clock: Clock): OAuthProviders {
  const google = credentials('google', config.OAUTH_GOOGLE_ENABLED, {
    clientId: config.OAUTH_GOOGLE_CLIENT_ID,
    clientSecret: config.OAUTH_GOOGLE_CLIENT_SECRET,
    redirectUrl: config.OAUTH_GOOGLE_REDIRECT_URL,
  });
  const github = credentials('github', config.OAUTH_GITHUB_ENABLED, {
    clientId: config.OAUTH_GITHUB_CLIENT_ID,
    clientSecret: config.OAUTH_GITHUB_CLIENT_SECRET,
    redirectUrl: config.OAUTH_GITHUB_REDIRECT_URL,
  });
  return {
    google: google && createOpenIdProvider({ ...google, issuer: config.OAUTH_GOOGLE_ISSUER, clock }),
    github:
      github &&
      createGithubProvider({
        ...github,
        baseUrl: config.OAUTH_GITHUB_URL,
        apiUrl: config.OAUTH_GITHUB_API_URL,
      }),
  };

  function credentials(
    name: ProviderName,
    enabled: boolean,
    given: Partial<ProviderCredentials>,
  ): ProviderCredentials | null {
    const { clientId, clientSecret } = given;
    if (!enabled || !clientId || !clientSecret) return null;
    const base = withoutTrailingSlashes(config.PUBLIC_URL);
    return {
      clientId,
      clientSecret,
      redirectUrl: given.redirectUrl ?? `${base}/v1/auth/oauth/${name}/callback`,
    };
  }
}
