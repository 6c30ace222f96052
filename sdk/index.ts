/** The exports of `@posthorn/sdk`. */

export type { Call, CallOptions } from './call-options.ts';
export {
  type BillingClient,
  type Client,
  type ClientOptions,
  createBillingClient,
  createClient,
  type RawRequest,
} from './client.ts';
export type * from './contract-types.ts';
export {
  AbortedError,
  AuthenticationError,
  BadRequestError,
  type ClientErrorCode,
  ConflictError,
  ConnectionError,
  MessageFailedError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionError,
  PosthornError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  UnprocessableError,
  UnsupportedMediaTypeError,
} from './error.ts';
export type { EventsMatching, StreamedEvent, WebhookEvent } from './event-types.ts';
export type { FileSource } from './file.ts';
export { iterate, type ToArrayOptions, toArray } from './iterate.ts';
export type { LogFields, Logger } from './logger.ts';
export {
  createSession,
  type Session as LoginSession,
  type SessionOptions,
  type StoredSession,
} from './session.ts';
export { type SignedHeaders, type SignOptions, signWebhook } from './sign-webhook.ts';
export type { StreamOptions } from './stream-events.ts';
export type { TokenSource } from './token-source.ts';
export type { UploadProgress } from './upload-progress.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookErrorCode,
  type WebhookHeaders,
  WebhookVerificationError,
} from './verify-webhook.ts';
export { VERSION } from './version.ts';
export type { WaitForInput, WaitForOptions } from './wait-for-message.ts';
