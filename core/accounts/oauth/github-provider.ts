import * as oauth from 'oauth4webapi';
import { withoutTrailingSlashes } from '../../platform/http/base-url.ts';
import { fetch } from '../../platform/http/fetch.ts';
import { mailboxOf, type OAuthProvider, type ProviderCredentials, providerTimeout } from './provider.ts';

const SCOPE = 'read:user user:email';

/**
 * GitHub: OAuth 2.0 without OpenID. It has neither discovery nor an ID token, so the identity comes from its API,
 * and only PKCE and the state bind the answer to the request.
 */
export function createGithubProvider(
  options: ProviderCredentials & { baseUrl: string; apiUrl: string },
): OAuthProvider {
  const base = withoutTrailingSlashes(options.baseUrl);
  const api = withoutTrailingSlashes(options.apiUrl);
  const server: oauth.AuthorizationServer = {
    issuer: base,
    authorization_endpoint: `${base}/login/oauth/authorize`,
    token_endpoint: `${base}/login/oauth/access_token`,
  };
  const client: oauth.Client = { client_id: options.clientId };
  const clientAuth = oauth.ClientSecretPost(options.clientSecret);
  const http = {
    signal: providerTimeout,
    [oauth.customFetch]: fetch,
    [oauth.allowInsecureRequests]: base.startsWith('http:') || api.startsWith('http:'),
  };

  async function get(accessToken: string, path: string): Promise<unknown> {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'posthorn' });
    const answer = await oauth.protectedResourceRequest(
      accessToken,
      'GET',
      new URL(`${api}${path}`),
      headers,
      null,
      http,
    );
    if (answer.status !== 200) throw new Error(`GitHub answered ${answer.status} to ${path}`);
    return answer.json();
  }

  return {
    async authorizationUrl({ state, codeVerifier }) {
      const url = new URL(`${base}/login/oauth/authorize`);
      url.searchParams.set('client_id', options.clientId);
      url.searchParams.set('redirect_uri', options.redirectUrl);
      url.searchParams.set('response_type', 'code');
      url.searchParams.set('scope', SCOPE);
      url.searchParams.set('state', state);
      url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(codeVerifier));
      url.searchParams.set('code_challenge_method', 'S256');
      return url;
    },
    async identify({ params, state, codeVerifier }) {
      // We do not know the issuer that GitHub names, and with one server there is nothing to mix it up with.
      const own = new URLSearchParams(params);
      own.delete('iss');
      const valid = oauth.validateAuthResponse(server, client, own, state);
      const answer = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        clientAuth,
        valid,
        options.redirectUrl,
        codeVerifier,
        http,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer);
      const [user, emails] = await Promise.all([
        get(tokens.access_token, '/user'),
        get(tokens.access_token, '/user/emails'),
      ]);
      return identityOf(user as GithubUser, emails as GithubEmail[]);
    },
  };
}

interface GithubUser {
  id?: unknown;
  login?: unknown;
  name?: unknown;
}

interface GithubEmail {
  email: string;
  primary: boolean;
  verified: boolean;
}

function identityOf(user: GithubUser, emails: GithubEmail[]) {
  if (!Number.isSafeInteger(user.id) || !Array.isArray(emails))
    throw new Error('GitHub did not say who it is');
  const verified = emails.filter((entry) => entry.verified === true && typeof entry.email === 'string');
  const best = verified.find((entry) => entry.primary) ?? verified[0];
  const name = typeof user.name === 'string' && user.name.trim() !== '' ? user.name : user.login;
  return {
    subject: String(user.id),
    email: mailboxOf(best?.email),
    emailVerified: best !== undefined,
    name: typeof name === 'string' ? name : null,
  };
}
