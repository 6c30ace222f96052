import type { IncomingMessage } from 'node:http';
import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { idempotencyKey } from '@posthorn/contract/messaging/message.ts';
import type { Authenticator, Credentials, Principal } from '@posthorn/core/access/principal.ts';
import type { StrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import type { LoadShedder } from '@posthorn/core/limits/shed-load.ts';
import type { RateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import type { Call } from './call.ts';
import { type CsrfTokensOf, checkCsrf, REFRESH_COOKIE } from './csrf.ts';
import { applyRateSlot } from './rate-limit.ts';

export interface GateDeps {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  shedder: LoadShedder;
  csrfTokensOf: CsrfTokensOf;
  /** Limits for unauthenticated callers, by address. */
  strangers: StrangerLimits;
  /** Throws if credentials that were admitted are no longer valid: asked again after a body that took long. */
  checkPrincipal: (principal: Principal) => Promise<void>;
  /** Redeems a ticket of `POST /v1/events/ticket` instead of credentials; only routes with `ticket`. */
  redeemTicket?: (ticket: string) => Promise<Principal>;
  /** Accepts a JWT or the refresh cookie; only routes with `jwt_or_cookie` (ACC-25). */
  authenticateAccount?: (proof: {
    authorization: string | undefined;
    refreshToken: string | undefined;
  }) => Promise<Principal>;
  /** Checks for routes that other machines call with a secret, by route name; each throws the refusal. */
  guards?: Readonly<Record<string, (request: IncomingMessage) => void>>;
}

/**
 * Decides everything that depends only on the headers, before the body is read: authentication, rate,
 * permissions, and required headers. Throws or rejects with the refusal. Synchronous if the caches have the
 * answers: the hot path stays in its turn of the event loop.
 * The rate is counted before the role check, so that refusals for a wrong role count too and every
 * authenticated answer carries the rate headers (LIM-2).
 */
export function admit(deps: GateDeps, call: Call): undefined | Promise<undefined> {
  const { route } = call;
  const { headers } = call;
  if (route.checksCsrf && headers.cookie !== undefined) checkCsrf(deps.csrfTokensOf, call);
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
    // Without credentials, there is no lookup.
    return authenticator.authenticate(credentials);
  }
  const prove = () => authenticator.authenticate(credentials);
  return authenticator.isKnown(credentials) ? prove() : asStranger(deps, call, prove);
}

/**
 * Admits requests on routes that do not authenticate an account: checks machine secrets here; the refresh
 * cookie is checked by its handler.
 */
function admitStranger(deps: GateDeps, call: Call): undefined | Promise<undefined> {
  const { route } = call;
  const guard = deps.guards?.[route.name];
  if (guard)
    return asStranger(deps, call, async () => {
      guard(call.incoming);
      return undefined;
    });
  // One address posts for many: one sender's wrong secret must not cost the others.
  if (route.meta.isSigned) return enterHandler(deps, call, `${call.addressGroup} ${call.request.path}`);
  if (route.meta.auth === 'refresh') return enterHandler(deps, call, call.addressGroup);
  if (route.meta.probe) {
    deps.strangers.takeProbe(call.addressGroup, route.name);
    return undefined;
  }
  const counted = deps.strangers.takeRoute(call.addressGroup, route.name);
  if (!route.meta.tellsOutages) return counted;
  // If the request cannot be counted, its handler cannot look anything up either, and reports that on the
  // page.
  return counted?.catch((err) => {
    if (!(err instanceof ApiError) || err.code !== 'SERVICE_UNAVAILABLE') throw err;
    return undefined;
  });
}

/**
 * Authenticates credentials unknown to this process. After too many failures in a minute the address is
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
 * Failures a stranger could cause without limit. Excludes expired tokens, which are genuine, need no lookup
 * and come from every browser each 15 minutes, and lookups that failed.
 */
function isFailedProof(err: unknown): boolean {
  return (
    err instanceof ApiError && (err.status === 401 || err.status === 403) && err.code !== 'TOKEN_EXPIRED'
  );
}

/** Lets the handler check the credential itself; failures are counted for `prover`. */
async function enterHandler(deps: GateDeps, call: Call, prover: string): Promise<undefined> {
  const settle = await deps.strangers.enterProof(prover);
  call.settleProof = settle;
  // The request's turn always ends with the request.
  call.response.once('close', () => settle(false));
  // The request may have ended while it waited for its turn; nothing else would give the turn back.
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
        return admitCounted(deps, call, principal);
      }, unavailable);
    }
    applyRateSlot(call, slot);
  }
  return admitCounted(deps, call, principal);
}

function admitCounted({ shedder }: GateDeps, call: Call, principal: Principal): undefined {
  checkRights(call, principal);
  const { response, route } = call;
  // Streams and uploads are open for long without keeping anybody waiting. The response of a client that is gone emits
  // no `close` any more.
  if (principal.isSuperadmin || route.meta.raw !== undefined || response.destroyed) return;
  response.once('close', shedder.enter(principal.companyId));
}

/**
 * Refuses a request that cannot be counted: a limit that fails open is no limit, and without its database the
 * process could not answer anyway.
 */
function unavailable(cause: unknown): never {
  throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '2' } });
}

function checkRights(call: Call, principal: Principal): void {
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
