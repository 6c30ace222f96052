import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { stormHooks } from './log-storms.ts';

export type Log = Logger;

/** Equal failures within it are counted, not written. */
const STORM_WINDOW_MS = 10_000;

/**
 * One JSON line an entry. Bodies, phone numbers, tokens and keys are never logged (ERR-11): callers
 * name ids only.
 */
export function createLog(options: {
  level: string;
  role: string;
  stormWindowMs?: number;
  /** Default: stdout. */
  to?: DestinationStream;
}): Log {
  const settings: LoggerOptions = {
    level: options.level,
    base: { role: options.role },
    redact: {
      paths: ['*.password', '*.token', '*.secret', '*.authorization', '*.cookie'],
      censor: '[redacted]',
    },
    serializers: { err: describeError },
    hooks: stormHooks({ windowMs: options.stormWindowMs ?? STORM_WINDOW_MS }),
  };
  return options.to ? pino(settings, options.to) : pino(settings);
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
