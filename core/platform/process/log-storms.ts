import type { LogFn, LoggerOptions } from 'pino';

/** Levels from here on are failures: warn, error, fatal. */
const LEVEL_WARN = 40;
const KINDS_MAX = 500;
const TRACES_MAX = 5;

interface Storm {
  /** How often it was repeated after the line that was written. */
  more: number;
  traceIds: unknown[];
  level: number;
  write(fields: object): void;
  timer: NodeJS.Timeout;
}

/**
 * Reduces a storm of equal failures to two lines: the first one at once, and at the end of the window one that
 * counts the repeats and has the first few trace ids. A database outage of a minute would otherwise write a stack
 * for every request and hide everything else.
 *
 * Failures are equal when message, level and fault are, whatever request they belong to. Entries without an `err`
 * are no failures and are never held back.
 */
export function stormHooks(options: { windowMs: number }): NonNullable<LoggerOptions['hooks']> {
  const storms = new Map<string, Storm>();

  function open(kind: string, level: number, write: Storm['write']): void {
    const timer = setTimeout(() => close(kind), options.windowMs);
    // A process that ends does not wait to report its repeats.
    timer.unref();
    storms.set(kind, { more: 0, traceIds: [], level, write, timer });
  }

  function close(kind: string): void {
    const storm = storms.get(kind)!;
    storms.delete(kind);
    if (storm.more === 0) return;
    storm.write({
      repeated: storm.more,
      within_ms: options.windowMs,
      ...(storm.traceIds.length > 0 ? { trace_ids: storm.traceIds } : {}),
    });
    // The storm continues: the next window is counted from its beginning.
    open(kind, storm.level, storm.write);
  }

  return {
    logMethod(args, method, level) {
      const [entry, message] = args as unknown as [unknown, unknown];
      const err = level >= LEVEL_WARN ? (entry as { err?: unknown } | null)?.err : undefined;
      if (!(err instanceof Error)) {
        method.apply(this, args);
        return;
      }
      const kind = kindOf(level, message, err, storms);
      const storm = storms.get(kind);
      if (storm) {
        storm.more += 1;
        const { trace_id: traceId } = entry as { trace_id?: unknown };
        if (traceId !== undefined && storm.traceIds.length < TRACES_MAX) storm.traceIds.push(traceId);
        return;
      }
      const { code } = err as { code?: unknown };
      open(kind, level, (fields) =>
        (method as LogFn).call(this, { fault: err.message, code, ...fields }, `${message} (again)`),
      );
      method.apply(this, args);
    },
  };
}

/** Numbers are ignored: other ports, ids and times are the same fault. */
function kindOf(level: number, message: unknown, err: Error, storms: ReadonlyMap<string, unknown>): string {
  const { code } = err as { code?: unknown };
  const text = `${String(message)} ${err.name} ${String(code)} ${err.message}`;
  const kind = `${level} ${text.slice(0, 300).replace(/[0-9a-f-]{8,}|\d+/g, '#')}`;
  // This many different faults are a storm themselves.
  return storms.size < KINDS_MAX || storms.has(kind) ? kind : 'others';
}
