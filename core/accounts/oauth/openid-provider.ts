import * as oauth from 'oauth4webapi';
import { HOUR_MS } from '../../platform/durations.ts';
import { fetch } from '../../platform/http/fetch.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { mailboxOf, type OAuthProvider, type ProviderCredentials, providerTimeout } from './provider.ts';

const SCOPE = 'openid email profile';
/** Endpoints and keys of a provider rarely change; a restart reloads them. */
const DISCOVERY_TTL_MS = HOUR_MS;

interface OpenIdOptions extends ProviderCredentials {
  issuer: string;
  clock: Pick<Clock, 'ownAheadMs'>;
}

/** An OpenID Connect provider, known by its issuer: Google, unless the setting names another. */
export function createOpenIdProvider(options: OpenIdOptions): OAuthProvider {
  const issuer = new URL(options.issuer);
  const clientAuth = oauth.ClientSecretPost(options.clientSecret);
  const http = {
    signal: providerTimeout,
    [oauth.customFetch]: fetch,
    // Only where the operator has configured an http issuer: a provider on the same machine.
    [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
  };
  let discovered: { server: oauth.AuthorizationServer; atMs: number } | null = null;

  async function discover(): Promise<oauth.AuthorizationServer> {
    if (discovered && performance.now() - discovered.atMs < DISCOVERY_TTL_MS) return discovered.server;
    const answer = await oauth.discoveryRequest(issuer, http);
    const server = await oauth.processDiscoveryResponse(issuer, answer);
    discovered = { server, atMs: performance.now() };
    return server;
  }

  return {
    async authorizationUrl({ state, nonce, codeVerifier }) {
      const server = await discover();
      if (!server.authorization_endpoint) throw new Error('the provider has no authorization endpoint');
      const url = new URL(server.authorization_endpoint);
      url.searchParams.set('client_id', options.clientId);
      url.searchParams.set('redirect_uri', options.redirectUrl);
      url.searchParams.set('response_type', 'code');
      url.searchParams.set('scope', SCOPE);
      url.searchParams.set('state', state);
      url.searchParams.set('nonce', nonce);
      url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(codeVerifier));
      url.searchParams.set('code_challenge_method', 'S256');
      return url;
    },
    async identify({ params, state, nonce, codeVerifier }) {
      const server = await discover();
      const client = clientNow(options);
      const valid = oauth.validateAuthResponse(server, client, params, state);
      const answer = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        clientAuth,
        valid,
        options.redirectUrl,
        codeVerifier,
        http,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      await oauth.validateApplicationLevelSignature(server, answer, http);
      const idToken = oauth.getValidatedIdTokenClaims(tokens)!;
      // Google puts the e-mail into the ID token; others return it from the userinfo endpoint.
      const claims = idToken.email === undefined ? await userInfo(server, tokens, idToken.sub) : idToken;
      return {
        subject: idToken.sub,
        email: mailboxOf(claims.email),
        emailVerified: claims.email_verified === true || claims.email_verified === 'true',
        name: typeof claims.name === 'string' ? claims.name : null,
      };
    },
  };

  async function userInfo(
    server: oauth.AuthorizationServer,
    tokens: oauth.TokenEndpointResponse,
    subject: string,
  ): Promise<Record<string, unknown>> {
    const client = clientNow(options);
    const answer = await oauth.userInfoRequest(server, client, tokens.access_token, http);
    return oauth.processUserInfoResponse(server, client, subject, answer);
  }
}

/** The library judges tokens by the process's own time of day, which may be wrong. */
function clientNow({ clientId, clock }: OpenIdOptions): oauth.Client {
  return { client_id: clientId, [oauth.clockSkew]: -Math.round((clock.ownAheadMs?.() ?? 0) / 1000) };
}
