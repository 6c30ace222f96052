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
  .meta({ description: 'Only deliveries in this state: all, success, failure or stuck' });

/** Absent and empty are one, and answer a code of their own; to callers and in documents it is required. */
const requiredInstance = z.preprocess(
  (id: string) => id ?? '',
  z.string().refine((id) => id !== '', failsWith('INSTANCE_ID_REQUIRED')),
);

const hours = integerQuery(WEBHOOK_HOURS).meta({
  description: 'The length of the period in hours; default 24, at most 168; ignored when since is given',
});
const period = { hours, since: sinceQuery };
const optionalHours = integerRange(WEBHOOK_HOURS)
  .optional()
  .meta({ description: 'The length of the period in hours, at most 168; ignored when since is given' });

/** The attempts of one event, summed up. */
export const deliveredEvent = z
  .object({
    log_id: integerId.meta({ description: 'The id of the latest attempt, as retry-bulk takes it' }),
    webhook_id: integerId,
    webhook_url: shownAddress,
    event_id: z.string(),
    event_type: z.string(),
    status_code: z.int().meta({ description: 'The HTTP status of the response; 0 when there was none' }),
    response: z.string(),
    attempts: z.int().positive().meta({ description: 'The highest attempt number so far' }),
    success: z.boolean().meta({ description: 'Whether the endpoint answered the latest attempt with 2xx' }),
    error_class: z.string(),
    is_hard_failed: z.boolean(),
    has_payload_raw: z
      .boolean()
      .meta({ description: 'Whether the body is still stored; false after 14 days' }),
    payload_raw_size: z.int().meta({ description: 'The size of the stored body in bytes' }),
    payload_raw_json_valid: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'DeliveredEvent' });
export type DeliveredEvent = z.infer<typeof deliveredEvent>;

const deliveredEvents = cappedPageOf(deliveredEvent).meta({ id: 'DeliveredEventList' });

const count = z.int().nonnegative();
const successRate = z
  .number()
  .min(0)
  .max(100)
  .meta({ description: 'The percentage of successful attempts, 0 to 100; 100 without deliveries' });

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
      description: 'The number of events with a failed attempt and no later success at the same webhook',
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
      .meta({
        description: 'The counts of each hour of the period in UTC, oldest first; only with webhook_id',
      }),
  })
  .meta({ id: 'WebhookMetrics' });
export type WebhookMetrics = z.infer<typeof webhookMetrics>;

export const companyDeliveryLog = deliveryLog
  .extend({
    company_id: integerId.nullable().meta({ description: 'Only for superadmins; else null' }),
    company_name: z.string().nullable().meta({ description: 'Only for superadmins; else null' }),
  })
  .meta({ id: 'CompanyDeliveryLog' });
export type CompanyDeliveryLog = z.infer<typeof companyDeliveryLog>;

export const retryBulkBody = z
  .object({ log_ids: boundedArray(integerId, { min: 1, max: RETRY_BULK_MAX }) })
  .meta({ id: 'RetryBulkRequest' });

const view = { auth: 'any', access: 'all' } as const;
const PERIOD =
  'Lists events with an attempt in the period, latest attempt first: one row for each event, or with status stuck one row for each event and webhook.';

/** How deliveries went, over all webhooks of a company. A superadmin sees every company. */
export const deliveries = {
  instanceEvents: route(
    {
      ...view,
      errors: ['INSTANCE_ID_REQUIRED', 'INVALID_STATUS'],
      summary: 'List the delivered events of an instance',
      description: `${PERIOD} Includes deliveries of webhooks for all instances.`,
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
      summary: 'List delivered events',
      description: `${PERIOD} With webhook_id only the attempts at that webhook count.`,
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
      summary: 'List hard-failed events',
      description:
        'Lists events whose latest attempt the endpoint refused for good, after at least 3 attempts: one row for each event and webhook. Without a period it lists all that are kept.',
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
      summary: 'Read the delivery metrics of an instance',
      description: 'Counts attempts, including those of webhooks for all instances.',
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
      summary: 'Read the delivery metrics by webhook',
      description: 'Counts attempts. Includes webhooks without deliveries.',
    },
    {
      method: 'GET',
      path: '/v1/webhooks/metrics',
      query: z.object({
        hours: integerQuery(WEBHOOK_HOURS),
        webhook_id: idQuery
          .optional()
          .meta({ description: 'Only this webhook; the answer then has its counts by hour' }),
      }),
      responses: {
        200: z
          .object({ period_hours: z.int(), webhooks: z.array(webhookMetrics) })
          .meta({ id: 'WebhookMetricsList' }),
      },
    },
  ),
  companyLogs: route(
    { ...view, summary: 'List the delivery attempts of the company', description: 'Newest first.' },
    {
      method: 'GET',
      path: '/v1/webhooks/company-delivery-logs',
      query: z.object({
        success: z.stringbool().optional(),
        event_type: z.string().min(1).optional(),
        webhook_id: idQuery.optional(),
        since: sinceQuery.meta({ description: 'Only attempts after this time; default 24 hours ago' }),
        ...pageQuery(COMPANY_DELIVERY_LOGS_LIMIT),
      }),
      responses: { 200: cappedPageOf(companyDeliveryLog).meta({ id: 'CompanyDeliveryLogList' }) },
    },
  ),
  logs: route(
    {
      ...view,
      summary: 'List the latest delivery attempts',
      description: 'Newest first, as far back as attempts are kept.',
    },
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
      description:
        'Attempts each delivery at once, in place of its scheduled retry. The answer names skipped deliveries with the reason.',
    },
    {
      method: 'POST',
      path: '/v1/webhooks/retry-bulk',
      body: retryBulkBody,
      responses: { 202: retryResult },
    },
  ),
} satisfies AppRouter;
