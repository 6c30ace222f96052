import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { type AnswerDeps, JSON_TYPE, send } from './answer.ts';
import type { Call } from './call.ts';

/** `full` is the envelope of ERR-2; `reduced` the one billing handlers use below 500. */
export type EnvelopeKind = 'full' | 'reduced';

export interface ErrorDeps extends AnswerDeps {
  envelope: EnvelopeKind;
}

/**
 * Maps anything thrown to a catalogued error; its cause goes to the log with the trace id, never into the
 * answer (ERR-4).
 */
export function sendError(deps: ErrorDeps, call: Call, thrown: unknown): void {
  const gone = call.response.destroyed;
  let error = toApiError(thrown);
  if (deps.validateResponses && !call.route.errors.has(error.code)) {
    const cause = new Error(`${call.route.name} answered ${error.code}, which it does not document`, {
      cause: thrown,
    });
    error = apiError('INTERNAL_ERROR', { cause });
  }
  // The name billing handlers use for it (ERR-3).
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
  for (const name in error.headers) call.answerHeaders[name.toLowerCase()] = error.headers[name]!;
  send(deps, call, error.status, body, JSON_TYPE);
}

const GATE_STATUSES: readonly number[] = [401, 403, 429];

function envelopeOf(deps: ErrorDeps, call: Call, error: ApiError): Record<string, unknown> {
  const message = error.publicMessage;
  // The gate's errors have the full envelope in both services, and so do a handler's errors of the same
  // status: the contract has one shape per status.
  const full = deps.envelope === 'full' || call.inGate || GATE_STATUSES.includes(error.status);
  const base = full
    ? { error_code: error.code, message, trace_id: call.traceId, error: message }
    : {
        error_code: error.code,
        message,
        // Internal errors carry an id for support: the trace id of the log (ERR-3).
        ...(error.status === 500 ? { incident_id: call.traceId } : {}),
      };
  return error.fields ? { ...error.fields, ...base } : base;
}

/** Maps the framework's own refusals, and database errors by their codes; anything else is a bug. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (isUnavailable(thrown))
    return apiError('SERVICE_UNAVAILABLE', { cause: thrown, headers: { 'retry-after': '2' } });
  // The router could not decode a path parameter.
  if (thrown instanceof URIError && 'status' in thrown) return apiError('BAD_REQUEST');
  const code = (thrown as { code?: unknown } | null)?.code;
  switch (code) {
    // Text that PostgreSQL cannot store and no earlier check caught: a NUL, or half a surrogate pair.
    case '22021':
    case '22P05':
      return apiError('BAD_REQUEST', {
        message: 'the text has characters that cannot be stored',
        cause: thrown,
      });
  }
  return apiError('INTERNAL_ERROR', { cause: thrown });
}
