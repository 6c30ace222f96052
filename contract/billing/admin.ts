import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { beforeQuery, integerId, integerQuery, timestamp } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { c } from '../route-meta.ts';
import { billingRoute } from './route.ts';

/** Subscriptions by state, and what recurs each month. */
export const billingMetrics = z
  .object({
    total_active_subs: z.int(),
    total_trialing: z.int(),
    total_past_due: z.int(),
    total_suspended: z.int(),
    monthly_recurring_cents: z.int().meta({
      description:
        'The monthly revenue of active and past-due subscriptions; a yearly plan counts with a twelfth',
    }),
  })
  .meta({ id: 'AdminBillingMetrics' });
export type BillingMetrics = z.infer<typeof billingMetrics>;

export const providerEventStatus = z.enum(['pending', 'processed', 'ignored', 'failed']);

export const providerEventRow = z
  .object({
    id: integerId,
    provider_event_id: z.string(),
    event: z.string(),
    status: providerEventStatus,
    attempts: z.int(),
    last_error: z.string().nullable(),
    next_attempt_at: timestamp.nullable(),
    event_at: timestamp.meta({ description: 'When the event happened, as the provider reports it' }),
    received_at: timestamp,
    processed_at: timestamp.nullable(),
  })
  .meta({ id: 'ProviderEventRow' });
export type ProviderEventRow = z.infer<typeof providerEventRow>;

export const admin = {
  metrics: billingRoute(
    { auth: 'jwt', access: 'superadmin', summary: 'Read the figures of the billing service' },
    { method: 'GET', path: '/v1/billing/admin/metrics', responses: { 200: billingMetrics } },
  ),
  listEvents: billingRoute(
    {
      auth: 'jwt',
      access: 'superadmin',
      summary: 'List the provider events',
      description: 'Newest first, without their payloads.',
    },
    {
      method: 'GET',
      path: '/v1/billing/admin/webhook-events',
      query: z.object({
        status: providerEventStatus.optional(),
        event: z.string().max(100).optional(),
        before: beforeQuery,
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z
          .object({ data: z.array(providerEventRow), next_before: integerId.nullable() })
          .meta({ id: 'ProviderEventList' }),
      },
    },
  ),
  reprocessEvent: billingRoute(
    {
      auth: 'jwt',
      access: 'superadmin',
      notFound: 'INVALID_ID',
      errors: ['EVENT_NOT_FOUND', 'ENQUEUE_FAILED'],
      summary: 'Process a provider event again',
      description: 'Processing an event again that was processed has no further effect.',
    },
    {
      method: 'POST',
      path: '/v1/billing/admin/webhook-events/:id/reprocess',
      body: c.noBody(),
      responses: {
        202: z.object({ id: integerId, status: z.literal('pending') }).meta({ id: 'ProviderEventQueued' }),
      },
    },
  ),
} satisfies AppRouter;
