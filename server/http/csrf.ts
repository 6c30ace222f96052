import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { apiError } from '@posthorn/contract/api-error.ts';

export const REFRESH_COOKIE = 'svc_refresh_token';
export const CSRF_COOKIE = 'svc_csrf_token';

/**
 * A browser that sends the refresh cookie must prove that our own page made the request: X-CSRF-Token equal
 * to the CSRF cookie, which other sites can't read. Where a key is taken, one is proof enough: no browser
 * adds it by itself, and the cookie then decides nothing. Elsewhere the mere header proves nothing. Throws
 * 403 CSRF_INVALID.
 */
export function checkCsrf(request: {
  headers: IncomingHttpHeaders;
  cookies: Readonly<Record<string, string | undefined>>;
  route: { takesKey: boolean };
}): void {
  if (request.route.takesKey && request.headers['x-api-key']) return;
  if (request.cookies[REFRESH_COOKIE] === undefined) return;
  const header = request.headers['x-csrf-token'];
  const cookie = request.cookies[CSRF_COOKIE];
  if (typeof header !== 'string' || !cookie || !sameText(header, cookie)) throw apiError('CSRF_INVALID');
}

function sameText(a: string, b: string): boolean {
  const x = Buffer.from(a);
  const y = Buffer.from(b);
  return x.length === y.length && timingSafeEqual(x, y);
}
