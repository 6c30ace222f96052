import type { health } from '@posthorn/contract/messaging/health.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import { type Check, checkReadiness } from '@posthorn/core/platform/process/readiness.ts';
import type { Handlers } from './handler.ts';

export interface HealthDeps {
  /** The role, e.g. `messaging`. */
  service: string;
  checks: Readonly<Record<string, Check>>;
  isDraining: () => boolean;
  metrics: Metrics;
}

/** /health reports that the process runs, /ready that it can serve, /metrics its measurements (ERR-13). */
export function healthHandlers(deps: HealthDeps): Handlers<typeof health> {
  return {
    health: () => ({ status: 200, body: { status: 'ok', service: deps.service } }),
    ready: async () => {
      const { ready, checks } = await checkReadiness(deps);
      return ready
        ? { status: 200, body: { status: 'ready', service: deps.service, checks } }
        : { status: 503, body: { status: 'unavailable', service: deps.service, checks } };
    },
    metrics: async () => ({
      status: 200,
      body: await deps.metrics.read(),
      headers: { 'content-type': deps.metrics.contentType },
    }),
  };
}
