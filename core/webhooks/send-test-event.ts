import { apiError } from '@posthorn/contract/api-error.ts';
import type { EventData } from '@posthorn/contract/events.ts';
import type { SentTestEvent } from '@posthorn/contract/messaging/webhooks.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { announceEvents } from '../events/tell-events.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import { newId } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import { loadWebhook } from './find-webhook.ts';

/**
 * Sends `webhook.test` to one webhook, whatever it subscribes to, and to no other; streams show it. 404
 * WEBHOOK_NOT_FOUND; 409 CONFLICT when the webhook is disabled, for then nothing would be sent.
 */
export async function sendTestEvent(
  deps: { orm: Orm; db: Db; bus: Bus; clock: Clock },
  input: { principal: Principal; webhookId: number; traceId: string },
): Promise<SentTestEvent> {
  const webhook = await loadWebhook(reachOf(deps.orm, input.principal), input.webhookId);
  if (!webhook.enabled) throw apiError('CONFLICT', { message: 'the webhook is disabled' });
  const eventId = newId();
  const now = deps.clock.now();
  const data: EventData<'webhook.test'> = { webhook_id: webhook.id, timestamp: now.toISOString() };
  const { rowCount } = await deps.db.query(INSERT, [
    eventId,
    webhook.companyId,
    webhook.instanceId,
    data,
    input.traceId,
    now,
    webhook.id,
  ]);
  if (rowCount === 0) throw apiError('WEBHOOK_NOT_FOUND');
  announceEvents(deps.bus, new Set([webhook.companyId]));
  return { event_id: eventId };
}

/** Nothing for a webhook that was deleted since it was loaded: the events of a company that is gone would stay. */
const INSERT = `
WITH here AS MATERIALIZED (
  SELECT id FROM webhooks WHERE id = $7 FOR KEY SHARE
), logged AS (
  INSERT INTO events (tx, event_id, company_id, instance_id, type, data, trace_id, created_at)
  SELECT event_tx(), $1, $2, $3, 'webhook.test', $4, $5, $6 FROM here
)
INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at)
SELECT $2, id, $1, $6, $6, $6 FROM here`;
