import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { healthStatus } from '../messaging/health.ts';
import { metricsMeta, metricsRoute } from '../metrics-route.ts';
import { billingRoute } from './route.ts';

/**
 * Always answered with 200. No dependency is looked at, so a database that is away takes no instance out of
 * rotation. A balancer that should learn early of a stop looks at `status`, or at `connection: close`.
 */
export const billingReadiness = z
  .object({
    status: z.enum(['ok', 'draining']),
    service: z.string(),
    checks: z.object({
      clock: z
        .string()
        .optional()
        .meta({ description: "The difference of this machine's clock; only present when the clock is off" }),
    }),
  })
  .meta({ id: 'BillingReadiness' });

export const health = {
  health: billingRoute(
    {
      auth: 'none',
      access: 'public',
      probe: true,
      summary: 'Check that the process is alive',
      description: 'Checks no dependency.',
    },
    { method: 'GET', path: '/health', responses: { 200: healthStatus } },
  ),
  ready: billingRoute(
    {
      auth: 'none',
      access: 'public',
      probe: true,
      summary: 'Check that the process can serve requests',
      description: 'Always 200; `status` says whether the process is shutting down.',
    },
    { method: 'GET', path: '/ready', responses: { 200: billingReadiness } },
  ),
  metrics: billingRoute(metricsMeta, metricsRoute),
} satisfies AppRouter;
