/** What `@posthorn/sdk` exports. */

export type { CallOptions } from './call-options.ts';
export {
  type BillingClient,
  type Client,
  type ClientOptions,
  createBillingClient,
  createClient,
  type RawRequest,
} from './client.ts';
export type * from './contract-types.ts';
export { type ClientErrorCode, PosthornError } from './error.ts';
export type { StreamedEvent, WebhookEvent } from './event-types.ts';
export type { StreamOptions } from './stream-events.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookErrorCode,
  type WebhookHeaders,
  WebhookVerificationError,
} from './verify-webhook.ts';
