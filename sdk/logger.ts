/** What a program may want to log of its calls, without what must not stand in a log. */

/** `console` is one, and so is the logger of most libraries. */
export interface Logger {
  debug(message: string, fields: LogFields): void;
  warn(message: string, fields: LogFields): void;
}

/** Bodies, ids in paths and queries are never in it, and of the headers no value that opens anything. */
export interface LogFields {
  method: string;
  /** The route, with its parameters as names: `/v1/instances/:instanceId`; of `client.request` its first two parts. */
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

/** The headers as an object, with what is secret left out by name. */
export function redactHeaders(headers: Headers): Record<string, string> {
  const shown: Record<string, string> = {};
  headers.forEach((value, name) => {
    shown[name] = SECRET.test(name) ? '[redacted]' : value;
  });
  return shown;
}
