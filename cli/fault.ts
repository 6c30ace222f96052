import { PosthornError } from '@posthorn/sdk/index.ts';

/** The command line is wrong or makes no sense: exit code 2. */
export class UsageError extends Error {}

/** The command was understood but failed, without an error of the API: exit code 1 unless it names another. */
export class CommandError extends Error {
  readonly exitCode: number;
  /** For programs, beside the message. */
  readonly fields: Readonly<Record<string, unknown>>;
  constructor(message: string, { exitCode = 1, fields = {} }: CommandErrorDetails = {}) {
    super(message);
    this.exitCode = exitCode;
    this.fields = fields;
  }
}

interface CommandErrorDetails {
  exitCode?: number;
  fields?: Readonly<Record<string, unknown>>;
}

export const EXIT = {
  ok: 0,
  /** The service refused, or the command failed. */
  failed: 1,
  /** The command was not understood. */
  usage: 2,
  /** No answer. */
  unreachable: 3,
  /** The credentials are invalid or do not allow this. */
  denied: 4,
  /** A named resource does not exist. */
  missing: 5,
  /** Refused for the moment: too many requests, or the service is not ready. */
  later: 6,
  interrupted: 130,
} as const;

const EXIT_OF_STATUS: Readonly<Record<number, number>> = {
  401: EXIT.denied,
  403: EXIT.denied,
  404: EXIT.missing,
  410: EXIT.missing,
  429: EXIT.later,
  503: EXIT.later,
};

export interface Fault {
  exitCode: number;
  /** For people, on one line. */
  line: string;
  /** For programs. */
  json: Record<string, unknown>;
}

/** The exit code for any error that ended a command, and its text for stderr. */
export function describeFault(error: unknown): Fault {
  if (error instanceof PosthornError) return ofService(error);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) return usageFault(message);
  if (error instanceof CommandError) {
    const { exitCode, fields } = error;
    return { exitCode, line: message, json: { code: 'FAILED', ...fields, message } };
  }
  return { exitCode: EXIT.failed, line: message, json: { code: 'FAILED', message } };
}

/** The fault of a command line that was not understood. */
export function usageFault(message: string): Fault {
  return { exitCode: EXIT.usage, line: message, json: { code: 'USAGE', message } };
}

function ofService(error: PosthornError): Fault {
  const { code, message, status, traceId, retryAfterMs, idempotencyKey, attempts, fields } = error;
  const isUnreachable = code === 'NETWORK' || code === 'TIMEOUT';
  const trace = traceId ? ` (trace ${traceId})` : '';
  // The service's message names a header; in msgctl a flag sets it.
  const force = message.includes('X-Force-Send') ? ' (with msgctl: --force)' : '';
  const wait = retryAfterMs === null ? '' : `, try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return {
    exitCode: isUnreachable ? EXIT.unreachable : (EXIT_OF_STATUS[status] ?? EXIT.failed),
    line: `${code}: ${message}${force}${wait}${trace}`,
    json: {
      ...fields,
      code,
      message,
      status,
      trace_id: traceId,
      retry_after_ms: retryAfterMs,
      idempotency_key: idempotencyKey,
      attempts,
    },
  };
}
