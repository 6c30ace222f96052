import type { OAuthProviderList } from '@posthorn/contract/messaging/oauth.ts';

export type ProviderName = OAuthProviderList['providers'][number];

/** The user who logged in, according to the provider. */
export interface ProviderIdentity {
  /** The provider's own id of the person, which does not change as e-mails do. */
  subject: string;
  email: string | null;
  /** The provider has verified that the person reads this mailbox. */
  emailVerified: boolean;
  name: string | null;
}

/** One social login. Both calls throw whatever failed at the provider. */
export interface OAuthProvider {
  /** Where to send the browser (ACC-28): state, redirect_uri, client_id, response_type, scope, PKCE, nonce. */
  authorizationUrl(login: { state: string; nonce: string; codeVerifier: string }): Promise<URL>;
  /** Exchanges the code of the callback and asks for the identity. */
  identify(callback: {
    params: URLSearchParams;
    state: string;
    nonce: string;
    codeVerifier: string;
  }): Promise<ProviderIdentity>;
}

/**
 * A provider's address as accounts keep it; null for none. One with the Kelvin sign is none: the lower case of that is the
 * letter k, and another person's mailbox.
 */
export function mailboxOf(email: unknown): string | null {
  if (typeof email !== 'string' || email.includes('\u212a')) return null;
  return email.trim().toLowerCase();
}

/** Null: not enabled, or without credentials (ACC-27). */
export type OAuthProviders = Readonly<Record<ProviderName, OAuthProvider | null>>;

export function enabledProviders({ google, github }: OAuthProviders): ProviderName[] {
  return [...(google ? (['google'] as const) : []), ...(github ? (['github'] as const) : [])];
}

export interface ProviderCredentials {
  clientId: string;
  clientSecret: string;
  redirectUrl: string;
}

/** Time limit of a request to a provider. */
const TIMEOUT_MS = 10_000;

/** A signal for each request to a provider. */
export function providerTimeout(): AbortSignal {
  return AbortSignal.timeout(TIMEOUT_MS);
}
