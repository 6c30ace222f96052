import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { isUnavailable } from '@posthorn/core/platform/db.ts';
import { type AnswerDeps, send } from './answer.ts';
import type { Call } from './call.ts';

/** `full` is spec 7.1's envelope; `reduced` what billing handlers answer below 500. */
export type EnvelopeKind = 'full' | 'reduced';

export interface ErrorDeps extends AnswerDeps {
  envelope: EnvelopeKind;
}

/**
 * The one mapper: whatever was thrown becomes a catalogued error, and its cause goes to the log with the
 * trace id, never into the answer (spec 7.1).
 */
export function sendError(deps: ErrorDeps, call: Call, thrown: unknown): void {
  const gone = call.reply.raw.destroyed;
  let error = toApiError(thrown);
  if (deps.validateResponses && !call.route.errors.has(error.code)) {
    const cause = new Error(`${call.route.name} answered ${error.code}, which it does not document`, {
      cause: thrown,
    });
    error = apiError('INTERNAL_ERROR', { cause });
  }
  // What billing handlers call it (spec 7.3).
  if (deps.envelope === 'reduced' && !call.inGate && error.code === 'INTERNAL_ERROR')
    error = apiError('INTERNAL', { cause: error.cause ?? error });
  if (error.status >= 500 && !gone) {
    const entry = {
      err: error.cause ?? error,
      trace_id: call.traceId,
      route: call.route.name,
      code: error.code,
    };
    if (error.status === 500) deps.log.error(entry, 'request failed');
    else deps.log.warn(entry, 'request could not be served');
  }
  const body = JSON.stringify(envelopeOf(deps, call, error));
  send(deps, call, error.status, body, 'application/json; charset=utf-8', error.headers);
}

const GATE_STATUSES: readonly number[] = [401, 403, 429];

function envelopeOf(deps: ErrorDeps, call: Call, error: ApiError): Record<string, unknown> {
  const message = error.publicMessage;
  // The gate's errors have the full envelope in both services, and so has what a handler says of the same kind: the
  // contract has one shape for a status.
  const full = deps.envelope === 'full' || call.inGate || GATE_STATUSES.includes(error.status);
  const base = full
    ? { error_code: error.code, message, trace_id: call.traceId, error: message }
    : {
        error_code: error.code,
        message,
        // Internal errors carry what support asks for; it is the trace id of the log (spec 7.1).
        ...(error.status === 500 ? { incident_id: call.traceId } : {}),
      };
  return error.fields ? { ...error.fields, ...base } : base;
}

/** Fastify's own refusals by their codes, the database's by theirs; the rest is a bug. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (isUnavailable(thrown))
    return apiError('SERVICE_UNAVAILABLE', { cause: thrown, headers: { 'retry-after': '2' } });
  const code = (thrown as { code?: unknown } | null)?.code;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return apiError('PAYLOAD_TOO_LARGE');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return apiError('BAD_REQUEST', { message: 'the content type must be application/json' });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
      return apiError('BAD_REQUEST');
    // Text that PostgreSQL cannot store: a NUL, or half a surrogate pair, that no check before has seen.
    case '22021':
    case '22P05':
      return apiError('BAD_REQUEST', {
        message: 'the text has characters that cannot be stored',
        cause: thrown,
      });
  }
  return apiError('INTERNAL_ERROR', { cause: thrown });
}
