import { type Logger, pino } from 'pino';

export type Log = Logger;

/**
 * One JSON line an entry. Bodies, phone numbers, tokens and keys are never logged (design 6): callers
 * name ids only, and what could slip through in an error's own fields is censored here.
 */
export function createLog(options: { level: string; role: string }): Log {
  return pino({
    level: options.level,
    base: { role: options.role },
    redact: {
      paths: [
        '*.password',
        '*.token',
        '*.secret',
        '*.authorization',
        '*.cookie',
        'err.config',
        'err.parameters',
        'err.detail',
      ],
      censor: '[redacted]',
    },
  });
}
