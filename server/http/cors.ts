import type { IncomingHttpHeaders } from 'node:http';

const ALLOWED_HEADERS =
  'Authorization, Content-Type, X-API-Key, X-CSRF-Token, X-Force-Send, Idempotency-Key, Last-Event-ID';
const EXPOSED_HEADERS =
  'X-Trace-ID, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotent-Replayed';

export interface Cors {
  /** Adds the CORS headers for a request with an `origin`; does nothing without one. */
  apply(requestHeaders: IncomingHttpHeaders, answer: Record<string, string>): void;
  /** The headers of a preflight's answer. */
  preflight(requestHeaders: IncomingHttpHeaders): Record<string, string>;
}

/**
 * Any page may call the API with a key or a token (ERR-12). Cookies are only for our own console: only
 * `frontendUrl` may send them.
 */
export function createCors(frontendUrl: string): Cors {
  const own = new URL(frontendUrl).origin;
  const cors: Cors = {
    apply({ origin }, answer) {
      if (origin === undefined) return;
      answer.vary = 'Origin';
      answer['access-control-expose-headers'] = EXPOSED_HEADERS;
      if (origin === own) {
        answer['access-control-allow-origin'] = origin;
        answer['access-control-allow-credentials'] = 'true';
      } else answer['access-control-allow-origin'] = '*';
    },
    preflight(requestHeaders) {
      const answer: Record<string, string> = {};
      cors.apply(requestHeaders, answer);
      answer['access-control-allow-methods'] = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
      answer['access-control-allow-headers'] = ALLOWED_HEADERS;
      answer['access-control-max-age'] = '7200';
      return answer;
    },
  };
  return cors;
}
