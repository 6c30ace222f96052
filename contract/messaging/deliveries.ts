import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import {
  cappedPageOf,
  failsWith,
  idQuery,
  integerId,
  integerQuery,
  integerRange,
  pageQuery,
  sinceQuery,
  timestamp,
} from '../fields.ts';
import {
  COMPANY_DELIVERY_LOGS_LIMIT,
  DELIVERY_LOGS_LIMIT,
  RETRY_BULK_MAX,
  WEBHOOK_EVENTS_LIMIT,
  WEBHOOK_HOURS,
} from '../limits.ts';
import { route } from '../route-meta.ts';
import { deliveryLog, retryResult, shownAddress } from './webhooks.ts';

/** How the events of a list went: all, or those whose latest attempt succeeded, failed, or hard-failed. */
export const DELIVERY_STATUSES = ['all', 'success', 'failure', 'stuck'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

const statusQuery = z
  .string()
  .default('all')
  .refine((status) => (DELIVERY_STATUSES as readonly string[]).includes(status), failsWith('INVALID_STATUS'))
  .transform((status) => status as DeliveryStatus)
  .meta({ description: 'all, success, failure or stuck' });

/** Absent and empty are one, and answer a code of their own; to callers and in documents it is required. */
const requiredInstance = z.preprocess(
  (id: string) => id ?? '',
  z.string().refine((id) => id !== '', failsWith('INSTANCE_ID_REQUIRED')),
);

const hours = integerQuery(WEBHOOK_HOURS).meta({
  description: 'default 24, at most 168; ignored when since is given',
});
const period = { hours, since: sinceQuery };
const optionalHours = integerRange(WEBHOOK_HOURS)
  .optional()
  .meta({ description: 'at most 168; ignored when since is given' });

/** The attempts of one event, summed up. */
export const deliveredEvent = z
  .object({
    log_id: integerId.meta({ description: 'The latest attempt; takes retry-bulk' }),
    webhook_id: integerId,
    webhook_url: shownAddress,
    event_id: z.string(),
    event_type: z.string(),
    status_code: z.int().meta({ description: '0 when there was no answer' }),
    response: z.string(),
    attempts: z.int().positive().meta({ description: 'Highest attempt number seen' }),
    success: z.boolean().meta({ description: 'The latest attempt was 2xx' }),
    error_class: z.string(),
    is_hard_failed: z.boolean(),
    has_payload_raw: z.boolean().meta({ description: 'false after 14 days' }),
    payload_raw_size: z.int().meta({ description: 'bytes' }),
    payload_raw_json_valid: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'DeliveredEvent' });
export type DeliveredEvent = z.infer<typeof deliveredEvent>;

const deliveredEvents = cappedPageOf(deliveredEvent).meta({ id: 'DeliveredEventList' });

const count = z.int().nonnegative();
const successRate = z.number().min(0).max(100).meta({ description: '0 to 100; 100 without deliveries' });

/** Attempts of an instance's events; those by webhooks of all instances count too. */
export const instanceMetrics = z
  .object({
    instance_id: z.string(),
    period_hours: z.int(),
    total: count,
    successes: count,
    failures: count,
    success_rate: successRate,
    stuck_pending: count.meta({
      description: 'Events with a failure and no later success of the same webhook, counted for each webhook',
    }),
    configured_webhooks: count,
    active_webhooks: count,
  })
  .meta({ id: 'InstanceWebhookMetrics' });
export type InstanceMetrics = z.infer<typeof instanceMetrics>;

export const webhookMetrics = z
  .object({
    webhook_id: integerId,
    url: shownAddress,
    company_id: integerId,
    company_name: z.string(),
    instance_id: z.string().nullable(),
    instance_name: z.string().nullable(),
    total: count,
    successes: count,
    failures: count,
    success_rate: successRate,
    by_hour: z
      .array(
        z.object({
          at: timestamp.meta({ description: 'When the hour began' }),
          successes: count,
          failures: count,
        }),
      )
      .optional()
      .meta({ description: 'Only with webhook_id: each hour of the period in UTC, oldest first' }),
  })
  .meta({ id: 'WebhookMetrics' });
export type WebhookMetrics = z.infer<typeof webhookMetrics>;

export const companyDeliveryLog = deliveryLog
  .extend({
    company_id: integerId.nullable().meta({ description: 'For a superadmin only' }),
    company_name: z.string().nullable().meta({ description: 'For a superadmin only' }),
  })
  .meta({ id: 'CompanyDeliveryLog' });
export type CompanyDeliveryLog = z.infer<typeof companyDeliveryLog>;

export const retryBulkBody = z
  .object({ log_ids: boundedArray(integerId, { min: 1, max: RETRY_BULK_MAX }) })
  .meta({ id: 'RetryBulkRequest' });

const view = { auth: 'any', access: 'all' } as const;
const PERIOD =
  'Events with an attempt in the period, one row an event (with status stuck: an event and webhook), latest attempt first.';

/** How deliveries went, over all webhooks of a company. A superadmin sees every company. */
export const deliveries = {
  instanceEvents: route(
    {
      ...view,
      errors: ['INSTANCE_ID_REQUIRED', 'INVALID_STATUS'],
      summary: 'Delivered events of an instance',
      description: `${PERIOD} Deliveries by global webhooks count.`,
    },
    {
      method: 'GET',
      path: '/v1/webhooks/instance-events',
      query: z.object({
        instance_id: requiredInstance,
        status: statusQuery,
        ...period,
        ...pageQuery(WEBHOOK_EVENTS_LIMIT),
      }),
      responses: { 200: deliveredEvents },
    },
  ),
  events: route(
    {
      ...view,
      errors: ['INVALID_STATUS'],
      summary: 'Delivered events',
      description: `${PERIOD} With webhook_id the attempts at that webhook alone decide.`,
    },
    {
      method: 'GET',
      path: '/v1/webhooks/events',
      query: z.object({
        status: statusQuery,
        webhook_id: idQuery.optional(),
        ...period,
        ...pageQuery(WEBHOOK_EVENTS_LIMIT),
      }),
      responses: { 200: deliveredEvents },
    },
  ),
  stuck: route(
    {
      ...view,
      summary: 'Hard-failed events',
      description:
        'The latest attempt at a webhook was refused for good, after at least 3: one row an event and webhook. All that are kept, unless a period is asked for.',
    },
    {
      method: 'GET',
      path: '/v1/webhooks/stuck',
      query: z.object({
        hours: optionalHours,
        since: sinceQuery,
        ...pageQuery(WEBHOOK_EVENTS_LIMIT),
      }),
      responses: { 200: deliveredEvents },
    },
  ),
  instanceMetrics: route(
    {
      ...view,
      errors: ['INSTANCE_ID_REQUIRED'],
      summary: 'Delivery metrics of an instance',
      description: 'Counts attempts; those by global webhooks too.',
    },
    {
      method: 'GET',
      path: '/v1/webhooks/instance-metrics',
      query: z.object({ instance_id: requiredInstance, hours: integerQuery(WEBHOOK_HOURS) }),
      responses: { 200: instanceMetrics },
    },
  ),
  metrics: route(
    {
      ...view,
      summary: 'Delivery metrics by webhook',
      description: 'Counts attempts. Webhooks without deliveries are listed too.',
    },
    {
      method: 'GET',
      path: '/v1/webhooks/metrics',
      query: z.object({
        hours: integerQuery(WEBHOOK_HOURS),
        webhook_id: idQuery.optional().meta({ description: 'Only this webhook, with its counts by hour' }),
      }),
      responses: {
        200: z
          .object({ period_hours: z.int(), webhooks: z.array(webhookMetrics) })
          .meta({ id: 'WebhookMetricsList' }),
      },
    },
  ),
  companyLogs: route(
    { ...view, summary: 'Delivery attempts of the company', description: 'Newest first.' },
    {
      method: 'GET',
      path: '/v1/webhooks/company-delivery-logs',
      query: z.object({
        success: z.stringbool().optional(),
        event_type: z.string().min(1).optional(),
        webhook_id: idQuery.optional(),
        since: sinceQuery.meta({ description: 'default 24 hours ago' }),
        ...pageQuery(COMPANY_DELIVERY_LOGS_LIMIT),
      }),
      responses: { 200: cappedPageOf(companyDeliveryLog).meta({ id: 'CompanyDeliveryLogList' }) },
    },
  ),
  logs: route(
    { ...view, summary: 'Latest delivery attempts', description: 'Newest first, of the days that are kept.' },
    {
      method: 'GET',
      path: '/v1/webhooks/delivery-logs',
      query: z.object({ instance_id: z.string().optional(), ...pageQuery(DELIVERY_LOGS_LIMIT) }),
      responses: { 200: cappedPageOf(deliveryLog).meta({ id: 'LatestDeliveryLogList' }) },
    },
  ),
  retryBulk: route(
    {
      auth: 'any',
      access: 'owner_admin',
      summary: 'Attempt deliveries again',
      description: 'At once, each in place of its scheduled retry. What is skipped is named with the reason.',
    },
    {
      method: 'POST',
      path: '/v1/webhooks/retry-bulk',
      body: retryBulkBody,
      responses: { 202: retryResult },
    },
  ),
} satisfies AppRouter;
