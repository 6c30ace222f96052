/** The log entries of calls, without secrets and without contents. */

/** `console` is one, and so is the logger of most libraries. */
export interface Logger {
  debug(message: string, fields: LogFields): void;
  warn(message: string, fields: LogFields): void;
}

/** The fields never hold bodies, queries, ids in paths, or values of secret headers. */
export interface LogFields {
  method: string;
  /**
   * The route, with its parameters as names: `/v1/instances/:instanceId`; for `client.request`, the first two parts of
   * its path.
   */
  path: string;
  /** From 1. */
  attempt: number;
  status?: number | undefined;
  code?: string | undefined;
  durationMs?: number | undefined;
  /** How long until the next attempt. */
  waitMs?: number | undefined;
  traceId?: string | null | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

const SECRET = /authorization|api-?key|cookie|token|secret|signature|password/i;

/** The headers as an object; those with a name that suggests a secret are redacted. */
export function redactHeaders(headers: Headers): Record<string, string> {
  const shown: Record<string, string> = {};
  headers.forEach((value, name) => {
    shown[name] = SECRET.test(name) ? '[redacted]' : value;
  });
  return shown;
}
