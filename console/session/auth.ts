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
import { createDrafts, type Drafts } from './drafts.ts';
import { createTabs } from './tabs.ts';

/** Why nobody is signed in: nobody was, the user signed out, or the service ended the session. */
export type Ended = 'nobody' | 'left' | 'expired';
export type AuthState = { user: Session; ended: null } | { user: null; ended: Ended };

export interface Auth {
  /** Address of the API, for the requests shown as code. */
  baseUrl: string;
  client: Client;
  /** Client of the billing service, which may have another address. */
  billing: BillingClient;
  connection: Connection;
  /** The contents of forms, which outlive the end of the session; a sign-out removes them. */
  drafts: Drafts;
  /** Client for requests without a session, which must not wait for one. */
  stranger: Client;
  state(): AuthState;
  onChange(listener: () => void): () => void;
  /** Resumes the session of the cookies. Throws when the service cannot say whether there is one. */
  resume(): Promise<void>;
  /** Resumes the session that a sign-in elsewhere has begun, and tells the other tabs. */
  arrive(): Promise<void>;
  signIn(email: string, password: string): Promise<Session>;
  completeSignup(token: string, companyName: string): Promise<Session>;
  /** Gets a new token, which contains changes of the user. */
  renew(): Promise<void>;
  /** Ends the session in all tabs: a new password has already ended it at the service. */
  forget(): void;
  /** Ends the session at the service and in all tabs. */
  signOut(): Promise<void>;
  /** Ends the session here too when an error says that it is over, and asks for the role when one says that it may not. */
  noteError(error: unknown): void;
}

/** Codes that only a new sign-in resolves. */
const OVER: readonly string[] = [
  'REFRESH_FAILED',
  'PASSWORD_CHANGED',
  'NO_CREDENTIALS',
  'COMPANY_SUSPENDED',
  'UNAUTHORIZED',
];

/** A page that is refused again and again must not renew the session each time. */
const LEARN_ROLE_EVERY_MS = 60_000;

/**
 * Holds the signed-in user. The access token is kept only in memory; the refresh token is a cookie that scripts cannot
 * read, with which the SDK renews the access token before it expires.
 */
// long: the state of one session, and what changes it.
export function createAuth(baseUrl: string, billingUrl: string): Auth {
  const connection = createConnection(baseUrl);
  const { fetch } = connection;
  const drafts = createDrafts();
  const session = createSession({ baseUrl, fetch, onChange: noteRenewal });
  const client = createClient({ baseUrl, session, fetch });
  const billing = createBillingClient({ baseUrl: billingUrl, session });
  const stranger = createClient({ baseUrl, fetch });
  const listeners = new Set<() => void>();
  let state: AuthState = { user: null, ended: 'nobody' };
  let isEntering = false;
  let roleLearntAt = Number.NEGATIVE_INFINITY;

  function become(next: AuthState): void {
    state = next;
    if (next.ended === 'left') drafts.clear();
    for (const listener of listeners) listener();
  }

  function entered(user: Session): Session {
    become({ user, ended: null });
    return user;
  }

  /** A renewal brings the current role. If the cookies belong to another user by now, the page reloads as theirs. */
  function noteRenewal(): void {
    const user = session.user();
    if (!state.user || !user || isEntering) return;
    if (user.user_id === state.user.user_id) entered(user);
    else location.reload();
  }

  /** The role may have changed since the token was made: the next one knows it. */
  function learnRole(): void {
    if (Date.now() - roleLearntAt < LEARN_ROLE_EVERY_MS) return;
    roleLearntAt = Date.now();
    session.renew(session.stored()?.token ?? '').catch(() => undefined);
  }

  const tabs = createTabs({
    onOut: () => state.user && become({ user: null, ended: 'left' }),
    onIn(userId) {
      // A reload would lose what is half written: only for another user, to whom the cookies belong now.
      if (!state.user) renew().catch(() => location.reload());
      else if (state.user.user_id !== userId) location.reload();
    },
  });

  async function renew(): Promise<void> {
    await session.renew(session.stored()?.token ?? '');
    const user = session.user();
    if (user) entered(user);
  }

  async function resume(): Promise<void> {
    if (!hasSessionCookie()) return;
    try {
      await session.token();
    } catch (error) {
      if (!isOver(error)) throw error;
    }
    const user = session.user();
    if (user) entered(user);
  }

  async function enter(begin: () => Promise<Session>): Promise<Session> {
    isEntering = true;
    const user = await begin().finally(() => {
      isEntering = false;
    });
    entered(user);
    tabs.tellIn(user.user_id);
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
    resume,
    async arrive() {
      await resume();
      if (state.user) tabs.tellIn(state.user.user_id);
    },
    signIn: (email, password) => enter(() => session.login({ email, password })),
    completeSignup: (token, companyName) =>
      enter(() => session.completeSignup({ token, company_name: companyName })),
    renew,
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
      if (isRefused(error)) learnRole();
    },
  };
}

function isRefused(error: unknown): boolean {
  return error instanceof PosthornError && error.code === 'INSUFFICIENT_PERMISSIONS';
}

function isOver(error: unknown): boolean {
  return error instanceof PosthornError && OVER.includes(error.code);
}

/** Without the cookie that scripts may read there is no session, and a renewal would only fail. */
function hasSessionCookie(): boolean {
  return /(^|;\s*)svc_csrf_token=./.test(document.cookie);
}
