/**
 * The one error catalogue: every code, its HTTP status and its default public message.
 *
 * A code has one status wherever it is answered. Where a line says "not given", the HTTP meaning of the condition
 * decided. `alsoStatuses` lists further statuses
 * that a code has in another area; the thrower then names the one it means. `planned` marks the codes that nothing
 * answers; a test holds it both ways.
 */
import { z } from 'zod/v4';

export type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 501 | 502 | 503;

export interface ErrorSpec {
  status: ErrorStatus;
  message: string;
  alsoStatuses?: readonly ErrorStatus[];
  /** Nothing answers it now, and why: a documented name, kept for what will use it. */
  planned?: string;
}

/** The hint of refusals by passive mode and by the guard. */
const FORCE = 'the header X-Force-Send: true sends it anyway';

export const errorCatalogue = {
  // The default code and message of each status
  BAD_REQUEST: { status: 400, message: 'the request is not valid' },
  UNAUTHORIZED: { status: 401, message: 'authentication is required' },
  FORBIDDEN: { status: 403, message: 'access denied' },
  NOT_FOUND: { status: 404, message: 'not found' },
  CONFLICT: { status: 409, message: 'the request conflicts with existing data' },
  UNPROCESSABLE_ENTITY: {
    status: 422,
    message: 'the request cannot be processed',
    planned: 'the default of its status: whatever is 422 has a code of its own',
  },
  RATE_LIMITED: { status: 429, message: 'too many requests, try again later' },
  INTERNAL_ERROR: { status: 500, message: 'internal error' },
  INTERNAL_SERVER_ERROR: { status: 500, message: 'internal error' },
  NOT_IMPLEMENTED: { status: 501, message: 'this instance does not support the request' },
  SERVICE_UNAVAILABLE: { status: 503, message: 'temporarily unavailable, try again later' },

  // Request shape
  INVALID_JSON: { status: 400, message: 'the body is not valid JSON' },
  MISSING_FIELD: { status: 400, message: 'a required field is missing' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'the request body is too large' },
  REQUEST_TIMEOUT: { status: 408, message: 'the request took too long to arrive' },

  // Auth and session
  INVALID_CREDENTIALS: { status: 401, message: 'e-mail or password is wrong' },
  ACCOUNT_LOCKED: { status: 429, message: 'too many failed logins, try again later' },
  TOKEN_EXPIRED: { status: 401, message: 'the token has expired' },
  TOKEN_INVALID: { status: 401, message: 'the token or key is not valid' },
  CSRF_INVALID: { status: 403, message: 'the CSRF token is missing or wrong' },
  REFRESH_FAILED: { status: 401, message: 'the session cannot be refreshed' },
  REGISTRATION_FAILED: { status: 500, message: 'the registration failed' },
  EMAIL_ALREADY_REGISTERED: { status: 409, message: 'this e-mail is already registered' },
  RESET_TOKEN_INVALID: { status: 400, message: 'the reset link is not valid' },
  RESET_TOKEN_EXPIRED: { status: 400, message: 'the reset link has expired' },
  PASSWORD_CHANGED: { status: 401, message: 'the password was changed, log in again' },

  // OAuth. EMAIL_UNVERIFIED, STATE_INVALID and UPSTREAM_FAILED reach users as redirects only.
  OAUTH_PROVIDER_INVALID: { status: 400, message: 'unknown login provider' },
  OAUTH_PROVIDER_DISABLED: { status: 503, message: 'this login provider is not enabled' },
  OAUTH_STATE_INVALID: { status: 400, message: 'the login state is not valid' },
  OAUTH_EMAIL_UNVERIFIED: { status: 403, message: 'the provider has not verified this e-mail' },
  OAUTH_PENDING_INVALID: { status: 400, message: 'the pending sign-up is not valid' },
  OAUTH_UPSTREAM_FAILED: { status: 502, message: 'the login provider failed' },

  // Roles
  INSUFFICIENT_PERMISSIONS: { status: 403, message: 'your role does not allow this' },
  SUPERADMIN_REQUIRED: { status: 403, message: 'only a superadmin may do this' },
  OWNER_ONLY: { status: 403, message: 'only the owner may do this' },

  // E-mail verification
  EMAIL_NOT_VERIFIED: { status: 403, message: 'verify your e-mail first' },
  EMAIL_ALREADY_VERIFIED: { status: 409, message: 'the e-mail is already verified' },
  EMAIL_VERIFICATION_CODE_INVALID: { status: 400, message: 'the code is wrong' },
  EMAIL_VERIFICATION_CODE_EXPIRED: { status: 400, message: 'the code has expired' },
  EMAIL_VERIFICATION_RESEND_COOLDOWN: { status: 429, message: 'wait before asking for another code' },
  EMAIL_VERIFICATION_MAX_ATTEMPTS: { status: 429, message: 'too many wrong codes, ask for a new one' },

  // Tenancy and plan
  COMPANY_SUSPENDED: { status: 403, message: 'company suspended' },
  PLAN_LIMIT_REACHED: { status: 403, message: 'the limit of your plan is reached' },

  // Instance
  INSTANCE_NOT_FOUND: { status: 404, message: 'instance not found' },
  INSTANCE_NOT_CONNECTED: { status: 409, message: 'the instance is not connected' },
  INSTANCE_BANNED: { status: 409, message: 'the network has banned this instance' },
  INSTANCE_HARD_PAUSED: { status: 409, message: 'the network has paused this instance' },
  DUPLICATE_INSTANCE_NAME: { status: 409, message: 'an instance of this name already exists' },
  INVALID_INSTANCE_NAME: { status: 400, message: 'the name must have 3 to 80 characters' },
  /** Not given: they are well formed, and the network takes them not. */
  CREDENTIALS_REFUSED: { status: 422, message: 'the network refused the credentials' },
  INVALID_INSTANCE_TRANSITION: {
    status: 409,
    message: 'the present state of the instance does not allow this',
  },

  // Messaging
  INVALID_PHONE: { status: 400, message: 'not a valid phone number' },
  INVALID_RECIPIENT: { status: 400, message: 'not a valid recipient' },
  IDEMPOTENCY_KEY_REQUIRED: { status: 400, message: 'the header Idempotency-Key is required' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, message: 'this Idempotency-Key was used with a different body' },
  /** Not given: 413 and 415 are what HTTP calls these two. */
  MEDIA_TOO_LARGE: { status: 413, message: 'the media is larger than 64 MB' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'unsupported media MIME type' },
  MEDIA_FETCH_FAILED: { status: 502, message: 'the media could not be fetched' },
  MESSAGE_NOT_FOUND: { status: 404, message: 'message not found' },
  FORWARD_SOURCE_DELETED: { status: 422, message: 'the message to forward was deleted' },
  INVALID_PIX_KEY: {
    status: 400,
    message: 'the key is not valid for its type',
    planned: 'interactive sends, PIX buttons among them, are disabled',
  },
  INTERACTIVE_DISABLED: { status: 403, message: 'interactive messages are disabled' },
  /** Not given: the network behind us refused a synchronous action. */
  SEND_FAILED: { status: 502, message: 'the network refused the action' },
  BLOCKED_DUPLICATE_CONTENT: { status: 409, message: `the same content was sent within 24 hours; ${FORCE}` },
  BLOCKED_NO_RECIPROCITY: { status: 409, message: `too many sends in a row without an answer; ${FORCE}` },
  BLOCKED_TEMPERATURE_LIMIT: { status: 409, message: `too many sends in a row for this contact; ${FORCE}` },
  /** Not given: the state of the conversation forbids it. */
  CONVERSATION_WINDOW_CLOSED: {
    status: 409,
    message: `nobody has written in this chat within 24 hours, so the network takes only approved templates; ${FORCE}`,
  },
  PASSIVE_MODE_ENABLED: { status: 409, message: `the instance is in passive mode; ${FORCE}` },
  EDIT_WINDOW_EXPIRED: { status: 400, message: 'the message is too old to edit' },
  EDIT_UNSUPPORTED_TYPE: { status: 400, message: 'messages of this type cannot be edited' },
  EDIT_FORWARDED_NOT_ALLOWED: { status: 400, message: 'forwarded messages cannot be edited' },

  // Playground (statuses not given: a switched-off feature, two budgets, a bad value)
  PLAYGROUND_DISABLED: { status: 403, message: 'the playground is disabled' },
  PLAYGROUND_BUDGET_EXCEEDED: { status: 429, message: 'the playground budget is used up' },
  PLAYGROUND_RATE_LIMITED: { status: 429, message: 'too many playground requests' },
  PLAYGROUND_UNSUPPORTED_KIND: { status: 400, message: 'the playground does not support this kind' },

  // Webhooks
  WEBHOOK_NOT_FOUND: { status: 404, message: 'webhook not found' },
  WEBHOOK_URL_INVALID: { status: 400, message: 'the webhook url is not allowed' },
  WEBHOOK_URL_BLOCKED: { status: 400, message: 'the webhook url must use port 80, 443, 8080 or 8443' },
  INSTANCE_ID_REQUIRED: { status: 400, message: 'instance_id is required' },
  INVALID_STATUS: { status: 400, message: 'status must be all, success, failure or stuck' },

  // Feedback
  FEEDBACK_INVALID: { status: 400, message: 'the feedback is not valid' },
  FEEDBACK_FAILED: { status: 503, message: 'the feedback could not be stored' },

  // Account
  INVALID_CURRENT_PASSWORD: { status: 401, message: 'the current password is wrong' },
  PASSWORD_TOO_SHORT: { status: 400, message: 'the password is too short' },
  EMAIL_ALREADY_TAKEN: { status: 409, message: 'this e-mail is already in use' },
  EMAIL_CHANGE_NOT_FOUND: { status: 404, message: 'no e-mail change is pending' },
  EMAIL_CHANGE_CODE_INVALID: { status: 400, message: 'the code is wrong' },
  EMAIL_CHANGE_LOCKED: { status: 429, message: 'too many wrong codes, start again' },
  ACCOUNT_DELETION_FAILED: { status: 502, message: 'the account could not be deleted', alsoStatuses: [500] },
  ACCOUNT_ALREADY_DELETED: { status: 409, message: 'the account is already deleted' },
  ACCOUNT_DELETED: { status: 403, message: 'the account was deleted' },

  // IP reputation
  REPUTATION_NOT_AVAILABLE: { status: 503, message: 'no reputation data is available' },
  REPUTATION_RATE_LIMITED: { status: 429, message: 'too many reputation checks' },

  // Billing
  PROFILE_NOT_FOUND: { status: 404, message: 'billing profile not found' },
  PROFILE_EXISTS: { status: 409, message: 'a billing profile already exists' },
  PROFILE_REQUIRED: { status: 400, message: 'create a billing profile first' },
  INVALID_DOCUMENT: { status: 400, message: 'the document number is not valid' },
  PLAN_NOT_FOUND: { status: 404, message: 'plan not found', alsoStatuses: [400] },
  SUBSCRIPTION_NOT_FOUND: { status: 404, message: 'subscription not found' },
  SUBSCRIPTION_EXISTS: { status: 409, message: 'a subscription already exists' },
  SUBSCRIPTION_NOT_ACTIVE: { status: 400, message: 'the subscription is not active' },
  ALREADY_ON_PLAN: { status: 400, message: 'the subscription is already on this plan' },
  CARD_REQUIRED: { status: 400, message: 'card_id is required for credit_card' },
  CARD_REJECTED: { status: 422, message: 'the card was rejected' },
  INVALID_BILLING_TYPE: { status: 400, message: 'billing_type must be pix, boleto or credit_card' },
  INVALID_QUANTITY: { status: 400, message: 'the quantity is not allowed' },
  ITEM_NOT_FOUND: { status: 404, message: 'item not found' },
  ADDON_NOT_FOUND: { status: 404, message: 'add-on not found', alsoStatuses: [400] },
  INVALID_ID: { status: 400, message: 'the id is not valid' },
  COMPANY_NOT_FOUND: { status: 404, message: 'company not found' },
  MISSING_FIELDS: { status: 400, message: 'required fields are missing' },
  DB_ERROR: { status: 500, message: 'the change could not be stored' },
  EVENT_NOT_FOUND: { status: 404, message: 'event not found' },
  ENQUEUE_FAILED: { status: 502, message: 'the event could not be queued' },
  INTERNAL: { status: 500, message: 'internal error' },
} satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The status of a code, as a literal type: what the response maps of the routes are made of. */
export type StatusOf<C extends ErrorCode> = (typeof errorCatalogue)[C]['status'];

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCatalogue, code);
}

/** Every messaging error. Loose: guard codes add top-level fields. */
export const errorEnvelope = z
  .looseObject({
    error_code: z.string().meta({ description: 'A stable code in SCREAMING_SNAKE_CASE' }),
    message: z.string().meta({ description: 'A text for people; do not parse it' }),
    trace_id: z.string().meta({ description: 'The UUID of the request, also in the header X-Trace-ID' }),
    error: z.string().meta({ description: 'A copy of message, for older clients' }),
  })
  .meta({ id: 'Error' });

/** Errors of billing handlers; `incident_id` on internal ones. */
export const billingErrorEnvelope = z
  .looseObject({ error_code: z.string(), message: z.string(), incident_id: z.string().optional() })
  .meta({ id: 'BillingError' });
