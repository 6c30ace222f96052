import type { Json } from './json.ts';

const integer = { type: 'integer' };
const string = { type: 'string' };

/** Security schemes, header parameters and response headers shared by many operations. */
export const COMPONENTS: Json = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'The token of POST /v1/auth/login',
    },
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      description: 'An API key: svc_ and 64 hex characters',
    },
    refreshCookie: {
      type: 'apiKey',
      in: 'cookie',
      name: 'svc_refresh_token',
      description: 'Set by POST /v1/auth/login; HttpOnly, so only browsers send it',
    },
    csrf: {
      type: 'apiKey',
      in: 'header',
      name: 'X-CSRF-Token',
      description: 'The value of the cookie svc_csrf_token, together with the refresh cookie',
    },
    ticket: {
      type: 'apiKey',
      in: 'query',
      name: 'ticket',
      description: 'A ticket of POST /v1/events/ticket, for browsers',
    },
  },
  parameters: {
    ForceSend: {
      name: 'X-Force-Send',
      in: 'header',
      description: 'true overrides passive mode and the anti-spam guard. The audit log records it.',
      schema: { ...string, enum: ['true', 'false'] },
    },
    LastEventId: {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'The id of the last frame seen; browsers send it when they reconnect.',
      schema: string,
    },
    CsrfToken: {
      name: 'X-CSRF-Token',
      in: 'header',
      description: 'The value of the cookie svc_csrf_token; required when the request carries the cookies',
      schema: string,
    },
    Range: {
      name: 'Range',
      in: 'header',
      description: 'One range of bytes, answered with 206',
      schema: string,
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      description: 'The ETag of an earlier answer; 304 when it has not changed',
      schema: string,
    },
    IfRange: {
      name: 'If-Range',
      in: 'header',
      description:
        'The ETag for which the range is valid; when it has changed, the whole content is returned',
      schema: string,
    },
    ProviderToken: {
      name: 'asaas-access-token',
      in: 'header',
      required: true,
      description: 'The secret that the provider and this installation share',
      schema: string,
      example: 'the secret of ASAAS_WEBHOOK_SECRET',
    },
    WebhookId: {
      name: 'webhook-id',
      in: 'header',
      required: true,
      description: 'The event_id: the same for every attempt',
      schema: { ...string, format: 'uuid' },
    },
    WebhookTimestamp: {
      name: 'webhook-timestamp',
      in: 'header',
      required: true,
      description: 'Unix seconds of the attempt',
      schema: integer,
    },
    WebhookSignature: {
      name: 'webhook-signature',
      in: 'header',
      required: true,
      description: '`v1,` and the base64 HMAC-SHA256; two, separated by a space, while a secret is rotated',
      schema: string,
    },
  },
  headers: {
    TraceId: { description: 'The UUID of the request', schema: { ...string, format: 'uuid' } },
    RateLimitLimit: { description: 'Requests per minute of the company', schema: integer },
    RateLimitRemaining: { description: 'Requests left in this minute', schema: integer },
    RateLimitReset: { description: 'Unix time at which the minute ends', schema: integer },
    RetryAfter: { description: 'Seconds to wait', schema: integer },
    IdempotentReplayed: {
      description: 'true when the Idempotency-Key was used before',
      schema: { ...string, enum: ['true'] },
    },
    SessionCookies: { description: 'svc_refresh_token (HttpOnly) and svc_csrf_token', schema: string },
  },
};
