import type { deliveries } from '@posthorn/contract/messaging/deliveries.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db, Sql } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { listCompanyLogs, listLatestLogs } from '@posthorn/core/webhooks/list-company-logs.ts';
import { listDeliveredEvents } from '@posthorn/core/webhooks/list-delivered-events.ts';
import { readInstanceMetrics } from '@posthorn/core/webhooks/read-instance-metrics.ts';
import { readWebhookMetrics } from '@posthorn/core/webhooks/read-webhook-metrics.ts';
import { retryDeliveries } from '@posthorn/core/webhooks/retry-deliveries.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export interface DeliveriesRoutesDeps {
  db: Db;
  reports: Sql;
  bus: Bus;
  clock: Clock;
}

/** The results of a company's deliveries, and retrying them (WHK-16 to WHK-25). */
export function deliveriesRoutes(deps: DeliveriesRoutesDeps): Handlers<typeof deliveries> {
  return {
    async instanceEvents({ principal, query }) {
      return paged(
        query,
        await listDeliveredEvents(deps, { ...query, principal, instanceId: query.instance_id }),
      );
    },
    async events({ principal, query }) {
      const { webhook_id: webhookId } = query;
      return paged(query, await listDeliveredEvents(deps, { ...query, principal, webhookId }));
    },
    async stuck({ principal, query }) {
      return paged(query, await listDeliveredEvents(deps, { ...query, principal, status: 'stuck' }));
    },
    async instanceMetrics({ principal, query }) {
      const { instance_id: instanceId, hours } = query;
      return { status: 200, body: await readInstanceMetrics(deps, { principal, instanceId, hours }) };
    },
    async metrics({ principal, query }) {
      const { hours, webhook_id: webhookId } = query;
      const webhooks = await readWebhookMetrics(deps, { principal, hours, webhookId });
      return { status: 200, body: { period_hours: hours, webhooks } };
    },
    async companyLogs({ principal, query }) {
      const { event_type: eventType, webhook_id: webhookId } = query;
      return paged(query, await listCompanyLogs(deps, { ...query, principal, eventType, webhookId }));
    },
    async logs({ principal, query }) {
      return paged(query, await listLatestLogs(deps, { ...query, principal, instanceId: query.instance_id }));
    },
    async retryBulk({ principal, body }) {
      return { status: 202, body: await retryDeliveries(deps, { principal, logIds: body.log_ids }) };
    },
  };
}
