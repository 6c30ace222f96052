import { diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { otelTraceId, requestSpanId, type Trace, type TracingDeps } from './trace.ts';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
} as const;
/** A collector that is away loses spans, and takes neither memory nor the end of the process. */
const EXPORT_TIMEOUT_MS = 5_000;

/**
 * Makes spans of steps and sends them by OTLP over HTTP (protobuf) to `url` with `/v1/traces` added. The library reads the other
 * variables of OpenTelemetry by itself: OTEL_EXPORTER_OTLP_HEADERS, _CERTIFICATE, _COMPRESSION, OTEL_RESOURCE_ATTRIBUTES.
 */
export function startExporting(deps: TracingDeps & { url: string }): Trace {
  const { clock, log, service, config } = deps;
  const told = (message: string, ...details: unknown[]) =>
    log.warn({ detail: [message, ...details].join(' ').slice(0, 500) }, 'sending traces failed');
  diag.setLogger({ error: told, warn: told, info() {}, debug() {}, verbose() {} });
  const ids = idsOfSteps();
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': `posthorn-${service}` })),
    // By the trace id alone: all processes choose the same traces.
    sampler: new TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url: new URL('v1/traces', deps.url.endsWith('/') ? deps.url : `${deps.url}/`).href,
          timeoutMillis: EXPORT_TIMEOUT_MS,
        }),
        scheduledDelayMillis: 1_000,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  deps.shutdown.add('traces', () => provider.shutdown().catch(() => undefined));
  const tracer = provider.getTracer('posthorn');

  return (step) => {
    const request = {
      traceId: otelTraceId(step.traceId),
      spanId: requestSpanId(step.traceId),
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    };
    const endTime = step.endedAtMs ?? clock.now().getTime();
    if (step.isRequest) ids.next = request;
    const span = tracer.startSpan(
      step.name,
      { kind: KINDS[step.kind], startTime: endTime - step.durationMs, attributes: step.attributes },
      step.isRequest ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, request),
    );
    ids.next = null;
    if (step.failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: step.failure });
    span.end(endTime);
  };
}

/** The next span gets the ids that are set, and otherwise random ones. */
function idsOfSteps(): IdGenerator & { next: { traceId: string; spanId: string } | null } {
  const random = new RandomIdGenerator();
  return {
    next: null,
    generateTraceId() {
      return this.next?.traceId ?? random.generateTraceId();
    },
    generateSpanId() {
      return this.next?.spanId ?? random.generateSpanId();
    },
  };
}
