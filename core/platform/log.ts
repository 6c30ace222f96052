import { type Logger, pino } from 'pino';

export type Log = Logger;

/**
 * One JSON line an entry. Bodies, phone numbers, tokens and keys are never logged (design 6): callers
 * name ids only.
 */
export function createLog(options: { level: string; role: string }): Log {
  return pino({
    level: options.level,
    base: { role: options.role },
    redact: {
      paths: ['*.password', '*.token', '*.secret', '*.authorization', '*.cookie'],
      censor: '[redacted]',
    },
    serializers: { err: describeError },
  });
}

/**
 * Only what names the fault: drivers hang whole clients, requests and rows on their errors, and what is
 * left out by name grows back under another.
 */
function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { type, message, stack, code } = pino.stdSerializers.err(thrown);
  return { type, message, code, stack };
}
