import { createHmac, timingSafeEqual } from 'node:crypto';
import { EVENTS_TICKET_LIFETIME_S } from '@posthorn/contract/limits.ts';
import type { Principal } from '../accounts/principal.ts';
import type { Clock } from '../platform/clock.ts';

/**
 * Tickets let a browser open a live connection: EventSource and WebSocket can't send a header, and a
 * JWT does not belong into a URL. Signed rather than stored, so any process can check one, and short-lived
 * because URLs end up in access logs.
 */
export interface Tickets {
  issue(principal: Principal): { ticket: string; expires_at: string };
  /** Who it was issued to; null when it is forged or older than a minute. */
  verify(ticket: string): Principal | null;
}

export function createTickets(deps: { secret: string; clock: Clock }): Tickets {
  // A key of its own: what is signed here can never be taken for a JWT, nor the other way round.
  const key = createHmac('sha256', deps.secret).update('posthorn events ticket v1').digest();
  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest();
  return {
    issue(principal) {
      const expiresAt = new Date(deps.clock.now().getTime() + EVENTS_TICKET_LIFETIME_S * 1000);
      const payload = Buffer.from(JSON.stringify({ principal, exp: expiresAt.getTime() })).toString(
        'base64url',
      );
      return {
        ticket: `${payload}.${sign(payload).toString('base64url')}`,
        expires_at: expiresAt.toISOString(),
      };
    },
    verify(ticket) {
      const [payload, signature, ...rest] = ticket.split('.');
      if (!payload || !signature || rest.length > 0) return null;
      const given = Buffer.from(signature, 'base64url');
      const wanted = sign(payload);
      if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
      const { principal, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
      return exp > deps.clock.now().getTime() ? (principal as Principal) : null;
    },
  };
}
