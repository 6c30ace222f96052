import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { metricsMeta, metricsRoute } from '../metrics-route.ts';
import { route } from '../route-meta.ts';

export const healthStatus = z.object({ status: z.literal('ok'), service: z.string() }).meta({ id: 'Health' });

/** `checks` names each dependency with `ok`, `ok, but` and a remark, or what is wrong with it. */
export const readiness = z
  .object({
    status: z.enum(['ready', 'unavailable']),
    service: z.string(),
    checks: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Readiness' });
/** @public The SDK publishes it. */
export type Readiness = z.infer<typeof readiness>;

export const health = {
  health: route(
    {
      auth: 'none',
      access: 'public',
      probe: true,
      summary: 'Check that the process is alive',
      description: 'Checks no dependency.',
    },
    { method: 'GET', path: '/health', responses: { 200: healthStatus } },
  ),
  ready: route(
    {
      auth: 'none',
      access: 'public',
      probe: true,
      summary: 'Check that the process can serve requests',
      description: '503 when a dependency is missing; checks names it.',
    },
    { method: 'GET', path: '/ready', responses: { 200: readiness, 503: readiness } },
  ),
  metrics: route(metricsMeta, metricsRoute),
} satisfies AppRouter;
