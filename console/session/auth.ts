import {
  type BillingClient,
  type Client,
  createBillingClient,
  createClient,
  createSession,
  PosthornError,
  type Session,
} from '@posthorn/sdk/index.ts';
import { type Connection, createConnection } from './connection.ts';
import { createTabs } from './tabs.ts';

/** Why nobody is signed in: never was, chose to, or the service ended the session. */
export type Ended = 'nobody' | 'left' | 'expired';
export type AuthState = { user: Session; ended: null } | { user: null; ended: Ended };

export interface Auth {
  /** Where the API is, for requests that are shown. */
  baseUrl: string;
  client: Client;
  /** Of the service that bills, which may be elsewhere. */
  billing: BillingClient;
  connection: Connection;
  /** What was written in forms when the session ended, for whoever goes on; gone with whoever leaves. */
  drafts: Map<string, unknown>;
  /** For what is asked without a session, which must not wait for one. */
  stranger: Client;
  state(): AuthState;
  onChange(listener: () => void): () => void;
  /** Takes up the session of the cookies. Throws when the service cannot say whether there is one. */
  resume(): Promise<void>;
  signIn(email: string, password: string): Promise<Session>;
  completeSignup(token: string, companyName: string): Promise<Session>;
  /** A new token, which knows what changed of the user. */
  renew(): Promise<void>;
  /** Ends it here and in the other tabs: a new password has ended it at the service. */
  forget(): void;
  /** Ends the session at the service and in all tabs. */
  signOut(): Promise<void>;
  /** Sees to it that an error which says that the session is over ends it here too. */
  noteError(error: unknown): void;
}

/** Codes after which only signing in helps. */
const OVER: readonly string[] = [
  'REFRESH_FAILED',
  'PASSWORD_CHANGED',
  'NO_CREDENTIALS',
  'COMPANY_SUSPENDED',
  'UNAUTHORIZED',
];

/**
 * Who is signed in. The access token is held in memory alone; the refresh token is a cookie that scripts cannot read, and
 * the SDK renews with it before the token ends.
 */
// long: the state of one session, and what changes it.
export function createAuth(baseUrl: string, billingUrl: string): Auth {
  const connection = createConnection(baseUrl);
  const { fetch } = connection;
  const drafts = new Map<string, unknown>();
  const session = createSession({ baseUrl, fetch, onChange: noteRenewal });
  const client = createClient({ baseUrl, session, fetch });
  const billing = createBillingClient({ baseUrl: billingUrl, session });
  const stranger = createClient({ baseUrl, fetch });
  const listeners = new Set<() => void>();
  let state: AuthState = { user: null, ended: 'nobody' };
  let isEntering = false;

  function become(next: AuthState): void {
    state = next;
    if (next.ended === 'left') drafts.clear();
    for (const listener of listeners) listener();
  }

  function entered(user: Session): Session {
    become({ user, ended: null });
    return user;
  }

  /** A renewal knows the role of now. Should the cookies be of somebody else by now, the page begins anew as theirs. */
  function noteRenewal(): void {
    const user = session.user();
    if (!state.user || !user || isEntering) return;
    if (user.user_id === state.user.user_id) entered(user);
    else location.reload();
  }

  const tabs = createTabs({
    onOut: () => state.user && become({ user: null, ended: 'left' }),
    // The cookies are of somebody else now.
    onIn: () => location.reload(),
  });

  async function enter(begin: () => Promise<Session>): Promise<Session> {
    isEntering = true;
    const user = await begin().finally(() => {
      isEntering = false;
    });
    entered(user);
    tabs.tellIn();
    return user;
  }

  function forget(): void {
    become({ user: null, ended: 'left' });
    tabs.tellOut();
  }

  return {
    baseUrl,
    client,
    billing,
    stranger,
    connection,
    drafts,
    state: () => state,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async resume() {
      if (!hasSessionCookie()) return;
      try {
        await session.token();
      } catch (error) {
        if (!isOver(error)) throw error;
      }
      const user = session.user();
      if (user) entered(user);
    },
    signIn: (email, password) => enter(() => session.login({ email, password })),
    completeSignup: (token, companyName) =>
      enter(() => session.completeSignup({ token, company_name: companyName })),
    async renew() {
      await session.renew(session.stored()?.token ?? '');
      const user = session.user();
      if (user) entered(user);
    },
    forget,
    async signOut() {
      try {
        await session.token();
        await session.logout();
      } catch (error) {
        if (!isOver(error)) throw error;
      }
      forget();
    },
    noteError(error) {
      if (isOver(error) && state.user) become({ user: null, ended: 'expired' });
    },
  };
}

function isOver(error: unknown): boolean {
  return error instanceof PosthornError && OVER.includes(error.code);
}

/** Without the cookie that scripts may read there is no session, and asking for one would only fail. */
function hasSessionCookie(): boolean {
  return /(^|;\s*)svc_csrf_token=./.test(document.cookie);
}
