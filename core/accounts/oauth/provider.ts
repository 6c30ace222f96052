export type ProviderName = 'google' | 'github';

/** Whom a provider says it has before it. */
export interface ProviderIdentity {
  /** The provider's own id of the person; e-mails change, this does not. */
  subject: string;
  email: string | null;
  /** The provider has seen that the person reads this mailbox. */
  emailVerified: boolean;
  name: string | null;
}

/** One social login. Both calls throw whatever went wrong on the way to the provider. */
export interface OAuthProvider {
  /** Where to send the browser (ACC-28): state, redirect_uri, client_id, response_type, scope, PKCE, nonce. */
  authorizationUrl(login: { state: string; nonce: string; codeVerifier: string }): Promise<URL>;
  /** Exchanges the code of the callback and asks who it was. */
  identify(callback: {
    params: URLSearchParams;
    state: string;
    nonce: string;
    codeVerifier: string;
  }): Promise<ProviderIdentity>;
}

/** Null: not enabled, or without credentials (ACC-27). */
export type OAuthProviders = Readonly<Record<ProviderName, OAuthProvider | null>>;

export interface ProviderCredentials {
  clientId: string;
  clientSecret: string;
  redirectUrl: string;
}

/** How long a provider may take to answer. */
const TIMEOUT_MS = 10_000;

/** A signal for each request to a provider. */
export function providerTimeout(): AbortSignal {
  return AbortSignal.timeout(TIMEOUT_MS);
}
