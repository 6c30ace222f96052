import type { LogFn, LoggerOptions } from 'pino';

/** From here on entries are failures: warn, error, fatal. */
const LEVEL_WARN = 40;
const KINDS_MAX = 500;
const TRACES_MAX = 5;

interface Storm {
  /** How often it came after the line that was written. */
  more: number;
  traceIds: unknown[];
  level: number;
  write(fields: object): void;
  timer: NodeJS.Timeout;
}

/**
 * Makes a storm of equal failures two lines: the first as it is, at once, and at the end of the window one
 * that says how many came after it, with the trace ids of the first few. A database that is away for a minute
 * would otherwise write a stack for every request, and what else happened could not be found in it.
 *
 * Equal are those of the same words, level and fault, whatever request they belong to. Entries without an
 * `err` are no failures and are never held back.
 */
export function stormHooks(options: { windowMs: number }): NonNullable<LoggerOptions['hooks']> {
  const storms = new Map<string, Storm>();

  function open(kind: string, level: number, write: Storm['write']): void {
    const timer = setTimeout(() => close(kind), options.windowMs);
    // A process that ends does not wait to tell how often it failed.
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
    // It goes on: what comes in the next window is counted from its beginning.
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

/** Numbers are left out: ports, ids and times make no other fault of it. */
function kindOf(level: number, message: unknown, err: Error, storms: ReadonlyMap<string, unknown>): string {
  const { code } = err as { code?: unknown };
  const text = `${String(message)} ${err.name} ${String(code)} ${err.message}`;
  const kind = `${level} ${text.slice(0, 300).replace(/[0-9a-f-]{8,}|\d+/g, '#')}`;
  // So many different faults are a storm themselves.
  return storms.size < KINDS_MAX || storms.has(kind) ? kind : 'others';
}
