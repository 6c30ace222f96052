import { createHmac, timingSafeEqual } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { EVENTS_TICKET_LIFETIME_S } from '@posthorn/contract/limits.ts';
import type { Principal } from '../accounts/principal.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';

/**
 * Tickets let a browser open a live connection: EventSource and WebSocket can't send a header, and a
 * JWT does not belong into a URL. Signed rather than stored, so any process can check one, and short-lived
 * because URLs end up in access logs.
 */
export interface Tickets {
  issue(principal: Principal): { ticket: string; expires_at: string };
  /**
   * Who it was issued to. Throws TOKEN_INVALID (forged), TOKEN_EXPIRED (older than a minute) and, for what
   * happened since it was issued, COMPANY_SUSPENDED, FORBIDDEN (company gone) and TOKEN_INVALID (key revoked, user
   * gone); SERVICE_UNAVAILABLE when that can't be looked up.
   */
  redeem(ticket: string): Promise<Principal>;
}

export function createTickets(deps: { db: Sql; secret: string; clock: Clock }): Tickets {
  // A key of its own: what is signed here can never be taken for a JWT, nor the other way round.
  const key = createHmac('sha256', deps.secret).update('posthorn events ticket v1').digest();
  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest();

  function open(ticket: string): { principal: Principal; exp: number } {
    const [payload, signature, ...rest] = ticket.split('.');
    if (!payload || !signature || rest.length > 0) throw apiError('TOKEN_INVALID');
    const given = Buffer.from(signature, 'base64url');
    const wanted = sign(payload);
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw apiError('TOKEN_INVALID');
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  }

  return {
    issue(principal) {
      const expiresAt = new Date(deps.clock.now().getTime() + EVENTS_TICKET_LIFETIME_S * 1000);
      const content = JSON.stringify({ principal, exp: expiresAt.getTime() });
      const payload = Buffer.from(content).toString('base64url');
      return {
        ticket: `${payload}.${sign(payload).toString('base64url')}`,
        expires_at: expiresAt.toISOString(),
      };
    },
    async redeem(ticket) {
      const { principal, exp } = open(ticket);
      if (exp <= deps.clock.now().getTime()) throw apiError('TOKEN_EXPIRED');
      const holder = await readHolder(deps.db, principal);
      if (!holder) throw apiError('FORBIDDEN', { message: 'company not found' });
      if (!holder.there || holder.revoked) throw apiError('TOKEN_INVALID');
      if (holder.status !== 'active' && !principal.isSuperadmin) throw apiError('COMPANY_SUSPENDED');
      return principal;
    },
  };
}

interface Holder {
  status: string;
  there: boolean;
  revoked: boolean;
}

/** Null when the company is gone. Whatever goes wrong here, nothing is known about the ticket: 503. */
async function readHolder(sql: Sql, { companyId, userId, tokenId }: Principal): Promise<Holder | null> {
  try {
    const values = [companyId, userId, tokenId];
    return (await sql.query<Holder>({ name: 'ticket-holder', text: HOLDER, values })).rows[0] ?? null;
  } catch (cause) {
    throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '1' } });
  }
}

const HOLDER = `
SELECT c.status, u.id IS NOT NULL AS there, t.revoked_at IS NOT NULL AS revoked
FROM companies c
LEFT JOIN users u ON u.company_id = c.id AND u.id = $2
LEFT JOIN api_tokens t ON t.id = $3
WHERE c.id = $1`;
