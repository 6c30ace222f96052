import type { IncomingMessage } from 'node:http';
import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { idempotencyKey } from '@posthorn/contract/messaging/message.ts';
import type { Authenticator, Credentials, Principal } from '@posthorn/core/access/principal.ts';
import type { StrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import type { RateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import type { Call } from './call.ts';
import { type CsrfTokenOf, checkCsrf, REFRESH_COOKIE } from './csrf.ts';
import { applyRateSlot } from './rate-limit.ts';

export interface GateDeps {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  csrfTokenOf: CsrfTokenOf;
  /** What unauthenticated callers may do, by address. */
  strangers: StrangerLimits;
  /** Spends a ticket of `POST /v1/events/ticket` in place of credentials; only routes with `ticket`. */
  redeemTicket?: (ticket: string) => Promise<Principal>;
  /** JWT, or the refresh cookie in its place; only routes with `jwt_or_cookie` (ACC-25). */
  authenticateAccount?: (proof: {
    authorization: string | undefined;
    refreshToken: string | undefined;
  }) => Promise<Principal>;
  /** Routes that other machines call with a secret, by name: throws what is wrong with it. */
  guards?: Readonly<Record<string, (request: IncomingMessage) => void>>;
}

/**
 * Everything that is decided from the head of a request, before its body is read: authentication, rate,
 * permissions, and required headers. Throws or rejects with the refusal. Stays synchronous when the caches have the
 * answers: the hot path never leaves its turn of the event loop.
 *
 * The rate is counted before the role is checked, so that refusals for a wrong role are counted too and every
 * authenticated answer carries the rate headers (LIM-2).
 */
export function admit(deps: GateDeps, call: Call): undefined | Promise<undefined> {
  const { route } = call;
  const { headers } = call;
  if (route.checksCsrf && headers.cookie !== undefined) checkCsrf(deps.csrfTokenOf, call);
  if (!route.authenticates) return admitStranger(deps, call);
  if (route.meta.auth === 'jwt_or_cookie') {
    const proof = { authorization: headers.authorization, refreshToken: call.cookies[REFRESH_COOKIE] };
    const prove = () => deps.authenticateAccount!(proof);
    return asStranger(deps, call, prove).then((found) => admitPrincipal(deps, call, found));
  }
  const credentials: Credentials = {
    authorization: headers.authorization,
    // An empty header counts as an absent one.
    apiKey: (route.takesKey && (headers['x-api-key'] as string | undefined)) || undefined,
  };
  const principal = deps.authenticator.authenticateCached(credentials);
  if (principal !== null) return admitPrincipal(deps, call, principal);
  return authenticate(deps, call, credentials).then((found) => admitPrincipal(deps, call, found));
}

function authenticate(deps: GateDeps, call: Call, credentials: Credentials): Promise<Principal> {
  const { authenticator, redeemTicket } = deps;
  if (!credentials.authorization && !credentials.apiKey) {
    const { ticket } = call.request.query as { ticket?: unknown };
    if (call.route.meta.ticket && redeemTicket && typeof ticket === 'string')
      return asStranger(deps, call, () => redeemTicket(ticket));
    // Without credentials, nothing is looked up.
    return authenticator.authenticate(credentials);
  }
  const prove = () => authenticator.authenticate(credentials);
  return authenticator.isKnown(credentials) ? prove() : asStranger(deps, call, prove);
}

/**
 * Routes without authentication, and those that do not authenticate an account: a secret that machines share is
 * checked here, the refresh cookie by its handler.
 */
function admitStranger(deps: GateDeps, call: Call): undefined | Promise<undefined> {
  const { route } = call;
  const guard = deps.guards?.[route.name];
  if (guard)
    return asStranger(deps, call, async () => {
      guard(call.incoming);
      return undefined;
    });
  if (route.meta.auth === 'refresh') return enterRefresh(deps, call);
  if (route.meta.probe) {
    deps.strangers.takeProbe(call.addressGroup, route.name);
    return undefined;
  }
  const counted = deps.strangers.takeRoute(call.addressGroup, route.name);
  if (!route.meta.tellsOutages) return counted;
  // A request that cannot be counted cannot be looked up either: the handler finds that out and says it on the
  // page.
  return counted?.catch((err) => {
    if (!(err instanceof ApiError) || err.code !== 'SERVICE_UNAVAILABLE') throw err;
    return undefined;
  });
}

/**
 * Authenticates credentials that this process does not know: after so many failures in a minute, the address is
 * refused.
 */
async function asStranger<T>(deps: GateDeps, call: Call, prove: () => Promise<T>): Promise<T> {
  const settle = await deps.strangers.enterProof(call.addressGroup);
  try {
    const proven = await prove();
    settle(false);
    return proven;
  } catch (err) {
    settle(isFailedProof(err));
    throw err;
  }
}

/**
 * What a stranger could send without end. Not an expired token: it is genuine, costs no look-up and comes from
 * every browser each 15 minutes. Nor what could not be looked up.
 */
function isFailedProof(err: unknown): boolean {
  return (
    err instanceof ApiError && (err.status === 401 || err.status === 403) && err.code !== 'TOKEN_EXPIRED'
  );
}

async function enterRefresh(deps: GateDeps, call: Call): Promise<undefined> {
  const settle = await deps.strangers.enterProof(call.addressGroup);
  call.settleProof = settle;
  // Whatever the outcome, its turn ends with the request.
  call.response.once('close', () => settle(false));
  // It may have ended while it waited for its turn: nobody would give that back.
  if (call.response.destroyed) {
    settle(false);
    throw apiError('SERVICE_UNAVAILABLE');
  }
  return undefined;
}

function admitPrincipal(deps: GateDeps, call: Call, principal: Principal): undefined | Promise<undefined> {
  call.admitted = principal;
  if (!principal.isSuperadmin) {
    const slot = deps.rateLimiter.takeCached(principal.companyId, principal.requestsPerMinute);
    if (slot === null) {
      return deps.rateLimiter.take(principal.companyId, principal.requestsPerMinute).then((taken) => {
        applyRateSlot(call, taken);
        return checkRights(call, principal);
      }, unavailable);
    }
    applyRateSlot(call, slot);
  }
  return checkRights(call, principal);
}

/**
 * A request that cannot be counted is refused: a limit that fails open is none, and a process that cannot reach its
 * database has nothing to answer with anyway.
 */
function unavailable(cause: unknown): never {
  throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '2' } });
}

function checkRights(call: Call, principal: Principal): undefined {
  const { meta, roles } = call.route;
  if (roles !== null && !principal.isSuperadmin) {
    if (meta.access === 'superadmin') throw apiError('SUPERADMIN_REQUIRED');
    if (!roles.has(principal.role)) throw apiError('INSUFFICIENT_PERMISSIONS');
  }
  if (meta.requiresVerifiedEmail === true && !principal.emailVerified) throw apiError('EMAIL_NOT_VERIFIED');
  if (meta.operation !== undefined) checkIdempotencyKey(call.headers['idempotency-key']);
}

function checkIdempotencyKey(key: string | string[] | undefined): void {
  if (key === undefined || key === '') throw apiError('IDEMPOTENCY_KEY_REQUIRED');
  if (!idempotencyKey.safeParse(key).success)
    throw apiError('BAD_REQUEST', {
      message: 'Idempotency-Key: must be 1 to 255 printable ASCII characters',
    });
}
