import { createHash, timingSafeEqual } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { ProviderEventBody } from '@posthorn/contract/billing/provider-webhook.ts';
import { isUnavailable } from '../../platform/database/database-errors.ts';
import { parseProviderTime } from '../dates.ts';
import type { BillingDeps } from '../deps.ts';
import { withoutCard } from './provider-event.ts';

/**
 * Stores an event of the provider for later processing: once it is acknowledged, it is not lost. A known id is
 * acknowledged and not stored again (BIL-15). One that cannot be stored is 500, also while the database is away: the
 * provider then sends it again.
 */
export async function ingestEvent(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { event: ProviderEventBody; traceId: string },
): Promise<void> {
  const { event } = input;
  const now = deps.clock.now();
  const storing = deps.db.query(
    `WITH stored AS (
       INSERT INTO billing.provider_events (provider_event_id, event, payload, event_at, received_at, next_attempt_at, trace_id)
       VALUES ($1, $2, $3, $4, $5, $5, $6)
       ON CONFLICT (provider_event_id) DO NOTHING
       RETURNING 1
     )
     SELECT pg_notify('billing', 'events') FROM stored`,
    [
      event.id,
      event.event,
      JSON.stringify(withoutCard(event)),
      parseProviderTime(event.dateCreated) ?? now,
      now,
      input.traceId,
    ],
  );
  await storing.catch((cause: unknown) => {
    throw isUnavailable(cause) ? apiError('INTERNAL', { cause }) : cause;
  });
}

/**
 * Compares two secrets in constant time, their lengths included. Throws 401 UNAUTHORIZED; always, when none is
 * configured.
 */
export function checkSecret(given: string | string[] | undefined, secret: string | undefined): void {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const same = timingSafeEqual(digest(typeof given === 'string' ? given : ''), digest(secret ?? ''));
  if (!same || typeof given !== 'string' || !secret) throw apiError('UNAUTHORIZED');
}
