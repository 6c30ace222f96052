import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { EVENTS_TICKET_LIFETIME_S } from '@posthorn/contract/limits.ts';
import type { Principal, Role } from '../access/principal.ts';
import { familyOf, SESSION_IS_VALID } from '../access/session-valid.ts';
import type { Sql } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';

/**
 * Tickets let a browser open a live connection: EventSource and WebSocket can't send a header, and a
 * JWT does not belong into a URL. Signed rather than stored, so any process can check one; short-lived and good
 * for one connection, because URLs end up in access logs.
 */
export interface Tickets {
  issue(principal: Principal): Promise<{ ticket: string; expires_at: string }>;
  /**
   * Gives the principal that the ticket was issued to, once, with its present role. Throws TOKEN_INVALID (forged, or
   * used before), TOKEN_EXPIRED (older than a minute, or than the JWT it was issued to) and, for what happened since it
   * was issued, COMPANY_SUSPENDED, FORBIDDEN (company gone), PASSWORD_CHANGED and TOKEN_INVALID (session ended, key
   * revoked, user gone); SERVICE_UNAVAILABLE when the database cannot tell.
   */
  redeem(ticket: string): Promise<Principal>;
}

interface Content {
  id: string;
  principal: Principal;
  /** Unix ms. */
  exp: number;
  /** As {@link PASSWORD_AT} said when it was issued. */
  passwordAt: number;
}

/** Unix ms; no two passwords of a user have the same. */
const PASSWORD_AT = 'coalesce(floor(extract(epoch FROM u.password_changed_at) * 1000), 0)::bigint';

export function createTickets(deps: {
  db: Sql;
  secret: string;
  /** Further secrets whose signatures are taken (JWT_SECRETS_ACCEPTED). */
  accepted?: readonly string[];
  clock: Clock;
}): Tickets {
  const { db, clock } = deps;
  // A key of its own: what is signed here can never be taken for a JWT, nor the other way round.
  const keys = [deps.secret, ...(deps.accepted ?? [])].map((secret) =>
    createHmac('sha256', secret).update('posthorn events ticket v2').digest(),
  );
  const sign = (payload: string, key = keys[0]!) => createHmac('sha256', key).update(payload).digest();

  function open(ticket: string): Content {
    const [payload, signature, ...rest] = ticket.split('.');
    if (!payload || !signature || rest.length > 0) throw apiError('TOKEN_INVALID');
    const given = Buffer.from(signature, 'base64url');
    const fits = (expected: Buffer) => given.length === expected.length && timingSafeEqual(given, expected);
    if (!keys.some((key) => fits(sign(payload, key)))) throw apiError('TOKEN_INVALID');
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  }

  return {
    async issue(principal) {
      const { rows } = await db.query<{ at: number }>({
        name: 'ticket-issue',
        text: `SELECT ${PASSWORD_AT} AS at FROM users u WHERE u.id = $1`,
        values: [principal.userId],
      });
      if (!rows[0]) throw apiError('TOKEN_INVALID');
      const lastsUntil = clock.now().getTime() + EVENTS_TICKET_LIFETIME_S * 1000;
      const exp = Math.min(lastsUntil, principal.endsAtMs ?? lastsUntil);
      const content: Content = { id: randomUUID(), principal, exp, passwordAt: rows[0].at };
      const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
      return {
        ticket: `${payload}.${sign(payload).toString('base64url')}`,
        expires_at: new Date(exp).toISOString(),
      };
    },
    async redeem(ticket) {
      const { id, principal, exp, passwordAt } = open(ticket);
      if (exp <= clock.now().getTime()) throw apiError('TOKEN_EXPIRED');
      const holder = await redeemFor(db, principal, { id, exp });
      if (!holder) throw apiError('FORBIDDEN', { message: 'company not found' });
      if (!holder.there || !holder.first_use) throw apiError('TOKEN_INVALID');
      if (holder.password_at !== passwordAt) throw apiError('PASSWORD_CHANGED');
      if (holder.status !== 'active' && !principal.isSuperadmin) throw apiError('COMPANY_SUSPENDED');
      if (!holder.holds) throw apiError('TOKEN_INVALID');
      return { ...principal, role: holder.role };
    },
  };
}

interface Holder {
  status: string;
  there: boolean;
  /** The user's role by now. */
  role: Role;
  /** The key, or the session of the JWT, that asked for it is still good. */
  holds: boolean;
  first_use: boolean;
  password_at: number;
}

/** Null when the company is gone. When the query fails, nothing is known about the ticket: 503. */
async function redeemFor(
  sql: Sql,
  { companyId, userId, tokenId, jti }: Principal,
  ticket: { id: string; exp: number },
): Promise<Holder | null> {
  try {
    const family = jti === null ? null : familyOf(jti);
    const values = [companyId, userId, tokenId, jti, ticket.id, new Date(ticket.exp), family];
    return (await sql.query<Holder>({ name: 'ticket-redeem', text: REDEEM, values })).rows[0] ?? null;
  } catch (cause) {
    throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '1' } });
  }
}

/** Spends the ticket and looks at its holder: of two who come at the same time one inserts the row. */
const REDEEM = `
WITH spent AS (
  INSERT INTO spent_tickets (id, expires_at) VALUES ($5, $6) ON CONFLICT DO NOTHING RETURNING id
)
SELECT c.status, u.id IS NOT NULL AS there, u.role,
       EXISTS (SELECT 1 FROM spent) AS first_use,
       CASE WHEN $3::int IS NULL THEN ${SESSION_IS_VALID} ELSE t.revoked_at IS NULL END AS holds,
       ${PASSWORD_AT} AS password_at
FROM companies c
CROSS JOIN (SELECT $4::text AS jti, $7::uuid AS family) claim
LEFT JOIN users u ON u.company_id = c.id AND u.id = $2
LEFT JOIN api_tokens t ON t.id = $3
WHERE c.id = $1`;
