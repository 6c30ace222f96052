import type { Config } from '../config.ts';
import type { Clock } from '../process/clock.ts';
import type { Log } from '../process/log.ts';
import type { Shutdown } from '../process/shutdown.ts';

/** Something that was done for a request, by whichever process. Told when it is over. */
export interface TracedStep {
  /** The trace id of the request (`X-Trace-ID`), which its messages, jobs and events carry. */
  traceId: string;
  name: string;
  kind: 'server' | 'client' | 'producer' | 'internal';
  durationMs: number;
  /** Unix milliseconds of the clock; default: now. */
  endedAtMs?: number;
  /** Ids, counts and words of ours: no body, number, token or key. */
  attributes: Record<string, string | number>;
  /** A stable word for the reason why it failed. */
  failure?: string | undefined;
  /** The request itself, below which all other steps of its trace stand. */
  isRequest?: boolean;
}

/** Reports a step. Absent without a listener: then nothing is measured or kept. */
export type Trace = (step: TracedStep) => void;

/** A trace id of ours, a UUID, as OpenTelemetry writes it. */
export function otelTraceId(traceId: string): string {
  return traceId.replaceAll('-', '').toLowerCase();
}

/**
 * The span id of the request of a trace: the second half of the trace id. The trace id alone gives it, so that work
 * which another process does hours later appears below the request, and no row has to carry it.
 */
export function requestSpanId(traceId: string): string {
  return otelTraceId(traceId).slice(16);
}

export interface TracingDeps {
  config: Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER_ARG'>;
  /** The role, e.g. `worker`. */
  service: string;
  clock: Clock;
  log: Log;
  /** Sends what was not sent yet, and closes. */
  shutdown: Shutdown;
}
