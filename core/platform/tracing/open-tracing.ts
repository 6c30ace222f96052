import type { Trace, TracingDeps } from './trace.ts';

/** Sends steps to the collector of OTEL_EXPORTER_OTLP_ENDPOINT; without it nothing of OpenTelemetry's SDK is loaded. */
export async function openTracing(deps: TracingDeps): Promise<Trace | undefined> {
  const url = deps.config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (url === undefined) return undefined;
  const { startExporting } = await import('./otlp.ts');
  return startExporting({ ...deps, url });
}
