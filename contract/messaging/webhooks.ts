import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray, boundedRecord } from '../bounded.ts';
import { eventPattern } from '../events.ts';
import {
  cappedLogsOf,
  cappedPageOf,
  failsWith,
  integerId,
  omitted,
  pageOf,
  pageQuery,
  timestamp,
  uuid,
} from '../fields.ts';
import {
  DELIVERY_LOGS_LIMIT,
  LIST_LIMIT,
  URL_MAX_CHARS,
  WEBHOOK_HEADER_VALUE_MAX_CHARS,
  WEBHOOK_HEADERS_MAX,
  WEBHOOK_PATTERNS_MAX,
} from '../limits.ts';
import { c, route } from '../route-meta.ts';

/** Only the form is judged here; production rules and blocked addresses are the use case's to judge. */
const webhookUrl = z
  .string()
  .min(1)
  .refine(
    (url) => {
      if (url === '') return true;
      if (url.length > URL_MAX_CHARS || !URL.canParse(url)) return false;
      return ['http:', 'https:'].includes(new URL(url).protocol);
    },
    failsWith('WEBHOOK_URL_INVALID', 'must be an http or https URL of at most 2048 characters'),
  )
  .meta({ examples: ['https://example.com/hook'] });

const RESERVED_HEADER =
  /^(webhook-.*|host|content-length|content-type|connection|transfer-encoding|expect|upgrade)$/i;

const webhookHeaders = boundedRecord(
  z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'is not a header name')
    .refine((name) => !RESERVED_HEADER.test(name), 'is a header that the service sets itself'),
  z
    .string()
    .max(WEBHOOK_HEADER_VALUE_MAX_CHARS)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'),
  { max: WEBHOOK_HEADERS_MAX, tooMany: `at most ${WEBHOOK_HEADERS_MAX} headers` },
).meta({ description: 'Additional headers of each delivery' });

const patterns = boundedArray(eventPattern, { min: 1, max: WEBHOOK_PATTERNS_MAX });

export const createWebhookBody = z
  .object({
    url: webhookUrl,
    events: patterns
      .default(['*'])
      .meta({ description: 'The event names and patterns to subscribe to; default all' }),
    instance_id: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .meta({ description: 'Only events of this instance; null for every instance' }),
    headers: webhookHeaders.default({}),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'CreateWebhookRequest' });
export type CreateWebhookBody = z.infer<typeof createWebhookBody>;

export const updateWebhookBody = z
  .object({
    url: webhookUrl.optional(),
    events: patterns.optional(),
    instance_id: z.string().min(1).nullable().optional(),
    headers: webhookHeaders.optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'UpdateWebhookRequest' });
export type UpdateWebhookBody = z.infer<typeof updateWebhookBody>;

export const webhook = z
  .object({
    id: integerId,
    company_id: integerId,
    url: z.string(),
    events: z.array(z.string()),
    instance_id: uuid
      .nullable()
      .meta({ description: 'Only events of this instance; null for every instance' }),
    headers: z.record(z.string(), z.string()),
    enabled: z.boolean(),
    disabled_reason: z
      .string()
      .nullable()
      .meta({ description: 'The reason, e.g. gone after the endpoint answered 410; null while enabled' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof webhook>;

export const createdWebhook = webhook
  .extend({
    secret: z.string().meta({ description: 'Verifies signatures (whsec_...); shown only this once' }),
  })
  .meta({ id: 'CreatedWebhook' });
export type CreatedWebhook = z.infer<typeof createdWebhook>;

/** Why an attempt failed; the empty string on success. */
export const ERROR_CLASSES = [
  '',
  'permanent_4xx',
  'payload_rejected',
  'timeout',
  'connection',
  'tls',
  'dns',
  'server_5xx',
  'rate_limited',
  // In this order: 409 and 425, an answer that redirects, an address that is never reached.
  'retryable_4xx',
  'redirect',
  'blocked',
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

export const shownAddress = z.string().meta({
  description: 'The URL of the endpoint. Agents get only its origin, since path and query may carry a token',
});

/** One attempt. */
export const deliveryLog = z
  .object({
    id: integerId,
    webhook_id: integerId,
    event_id: z.string(),
    event_type: z.string(),
    payload: z.string().meta({
      description: 'The body as sent; empty after 14 days, and empty for agents when it holds a pairing code',
    }),
    payload_omitted: omitted('payload', 'GET /v1/events/{event_id} has the event'),
    status_code: z.int().meta({ description: 'The HTTP status of the response; 0 when there was none' }),
    response: z.string().meta({ description: 'At most 4 kB of the response' }),
    attempt: z.int().positive(),
    success: z.boolean(),
    // A plain string for readers: a class added later must not break them.
    error_class: z
      .string()
      .meta({ description: 'The class of the error, or empty', examples: ['', 'timeout', 'permanent_4xx'] }),
    created_at: timestamp,
    webhook_url: shownAddress,
  })
  .meta({ id: 'DeliveryLog' });
export type DeliveryLog = z.infer<typeof deliveryLog>;

export const rotatedSecret = z
  .object({
    secret: z.string().meta({ description: 'The new secret, shown only this once' }),
    previous_secret_expires_at: timestamp.meta({
      description: 'Until this time deliveries also carry a signature by the previous secret',
    }),
  })
  .meta({ id: 'RotatedSecret' });
export type RotatedSecret = z.infer<typeof rotatedSecret>;

export const sentTestEvent = z.object({ event_id: uuid }).meta({ id: 'SentTestEvent' });
export type SentTestEvent = z.infer<typeof sentTestEvent>;

/** Why a log was skipped: `not_found`, `payload_expired`, `webhook_disabled`, `in_progress`. */
export const retryResult = z
  .object({
    queued: z.int().meta({ description: 'The number of deliveries that will be attempted again at once' }),
    skipped: z.array(
      z.object({
        log_id: integerId,
        reason: z.string().meta({
          examples: ['not_found', 'payload_expired', 'webhook_disabled', 'in_progress', 'duplicate'],
        }),
      }),
    ),
  })
  .meta({ id: 'RetryResult' });
export type RetryResult = z.infer<typeof retryResult>;

const WEBHOOK = '/v1/webhooks/:webhookId' as const;
const manage = { auth: 'any', access: 'owner_admin', notFound: 'WEBHOOK_NOT_FOUND' } as const;

export const webhooks = {
  create: route(
    {
      auth: 'any',
      access: 'owner_admin',
      requiresVerifiedEmail: true,
      errors: ['WEBHOOK_URL_INVALID', 'WEBHOOK_URL_BLOCKED', 'INSTANCE_NOT_FOUND', 'PLAN_LIMIT_REACHED'],
      summary: 'Create a webhook',
      description: 'Deliveries follow Standard Webhooks. The secret is shown only this once.',
    },
    { method: 'POST', path: '/v1/webhooks', body: createWebhookBody, responses: { 201: createdWebhook } },
  ),
  list: route(
    {
      auth: 'any',
      access: 'owner_admin',
      summary: 'List webhooks',
      description: 'Newest first, without secrets.',
    },
    {
      method: 'GET',
      path: '/v1/webhooks',
      query: z.object(pageQuery(LIST_LIMIT)),
      responses: { 200: pageOf(webhook).meta({ id: 'WebhookList' }) },
    },
  ),
  get: route(
    { ...manage, summary: 'Read a webhook' },
    { method: 'GET', path: WEBHOOK, responses: { 200: webhook } },
  ),
  update: route(
    {
      ...manage,
      errors: ['WEBHOOK_URL_INVALID', 'WEBHOOK_URL_BLOCKED', 'INSTANCE_NOT_FOUND'],
      summary: 'Change a webhook',
      description: 'Only the given fields change.',
    },
    { method: 'PATCH', path: WEBHOOK, body: updateWebhookBody, responses: { 200: webhook } },
  ),
  remove: route(
    { ...manage, summary: 'Delete a webhook' },
    { method: 'DELETE', path: WEBHOOK, responses: { 204: c.noBody() } },
  ),
  logs: route(
    { ...manage, summary: 'List the delivery attempts of a webhook', description: 'Newest first.' },
    {
      method: 'GET',
      path: `${WEBHOOK}/logs`,
      query: z.object(pageQuery(DELIVERY_LOGS_LIMIT)),
      responses: { 200: cappedPageOf(deliveryLog).meta({ id: 'DeliveryLogList' }) },
    },
  ),
  rotateSecret: route(
    {
      ...manage,
      summary: 'Rotate the secret of a webhook',
      description:
        'For 24 hours deliveries carry a signature by each of the two secrets; then the old secret ends.',
    },
    {
      method: 'POST',
      path: `${WEBHOOK}/rotate-secret`,
      body: c.noBody(),
      responses: { 200: rotatedSecret },
    },
  ),
  test: route(
    {
      ...manage,
      errors: ['CONFLICT'],
      summary: 'Send a test event',
      description:
        'Sends a webhook.test event to this webhook only, whatever it subscribes to. 409 when the webhook is disabled.',
    },
    { method: 'POST', path: `${WEBHOOK}/test`, body: c.noBody(), responses: { 202: sentTestEvent } },
  ),
  retryLog: route(
    {
      ...manage,
      errors: ['NOT_FOUND', 'CONFLICT'],
      summary: 'Attempt a delivery again',
      description:
        'Attempts the delivery at once, in place of the scheduled retry. 409 when the payload is gone, the webhook is disabled or an attempt is in progress.',
    },
    {
      method: 'POST',
      path: `${WEBHOOK}/logs/:logId/retry`,
      body: c.noBody(),
      responses: { 202: retryResult },
    },
  ),
  eventDeliveries: route(
    {
      auth: 'any',
      access: 'all',
      summary: 'List the delivery attempts of an event',
      description: 'Oldest first. The list is empty for an unknown event.',
    },
    {
      method: 'GET',
      path: '/v1/event-deliveries',
      query: z.object({ event_id: z.string().min(1) }),
      responses: {
        200: cappedLogsOf(deliveryLog).meta({ id: 'EventDeliveries' }),
      },
    },
  ),
} satisfies AppRouter;
