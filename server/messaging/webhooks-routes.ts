import type { webhooks } from '@posthorn/contract/messaging/webhooks.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db, Sql } from '@posthorn/core/platform/database/db.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { WebhookPolicy } from '@posthorn/core/webhooks/check-webhook.ts';
import { createWebhook } from '@posthorn/core/webhooks/create-webhook.ts';
import { deleteWebhook } from '@posthorn/core/webhooks/delete-webhook.ts';
import { findWebhook } from '@posthorn/core/webhooks/find-webhook.ts';
import { listDeliveryLogs } from '@posthorn/core/webhooks/list-delivery-logs.ts';
import { listEventDeliveries } from '@posthorn/core/webhooks/list-event-deliveries.ts';
import { listWebhooks } from '@posthorn/core/webhooks/list-webhooks.ts';
import { retryDelivery } from '@posthorn/core/webhooks/retry-deliveries.ts';
import { rotateSecret } from '@posthorn/core/webhooks/rotate-secret.ts';
import { sendTestEvent } from '@posthorn/core/webhooks/send-test-event.ts';
import { updateWebhook } from '@posthorn/core/webhooks/update-webhook.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export interface WebhooksRoutesDeps {
  orm: Orm;
  db: Db;
  reports: Sql;
  bus: Bus;
  clock: Clock;
  cipher: Cipher;
  policy: WebhookPolicy;
}

/** Subscriptions to events and the logs of their deliveries (docs/reference/webhooks.md). */
export function webhooksRoutes(deps: WebhooksRoutesDeps): Handlers<typeof webhooks> {
  return {
    create: async ({ principal, body }) => ({
      status: 201,
      body: await createWebhook(deps, { principal, body }),
    }),
    list: async ({ principal, query }) => {
      return paged(query, await listWebhooks(deps, { companyId: principal.companyId, ...query }));
    },
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findWebhook(deps, { principal, webhookId: Number(params.webhookId) }),
    }),
    update: async ({ principal, params, body }) => ({
      status: 200,
      body: await updateWebhook(deps, { principal, webhookId: Number(params.webhookId), body }),
    }),
    remove: async ({ principal, params }) => {
      await deleteWebhook(deps, { principal, webhookId: Number(params.webhookId) });
      return { status: 204 };
    },
    logs: async ({ principal, params, query }) => {
      const webhookId = Number(params.webhookId);
      return paged(query, await listDeliveryLogs(deps, { principal, webhookId, ...query }));
    },
    rotateSecret: async ({ principal, params }) => ({
      status: 200,
      body: await rotateSecret(deps, { principal, webhookId: Number(params.webhookId) }),
    }),
    test: async ({ principal, params, traceId }) => ({
      status: 202,
      body: await sendTestEvent(deps, { principal, webhookId: Number(params.webhookId), traceId }),
    }),
    retryLog: async ({ principal, params }) => ({
      status: 202,
      body: await retryDelivery(deps, {
        principal,
        webhookId: Number(params.webhookId),
        logId: Number(params.logId),
      }),
    }),
    eventDeliveries: async ({ principal, query }) => ({
      status: 200,
      body: await listEventDeliveries(deps, { principal, eventId: query.event_id }),
    }),
  };
}
