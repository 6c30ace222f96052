import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { c, route } from '../route-meta.ts';

export const healthStatus = z.object({ status: z.literal('ok'), service: z.string() }).meta({ id: 'Health' });

/** `checks` names each dependency with `ok` or what is wrong with it. */
export const readiness = z
  .object({
    status: z.enum(['ready', 'unavailable']),
    service: z.string(),
    checks: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Readiness' });
export type Readiness = z.infer<typeof readiness>;

export const health = {
  health: route(
    { auth: 'none', access: 'public', probe: true, summary: 'The process is alive' },
    { method: 'GET', path: '/health', responses: { 200: healthStatus } },
  ),
  ready: route(
    {
      auth: 'none',
      access: 'public',
      probe: true,
      summary: 'The process can serve',
      description: '503 names what is missing.',
    },
    { method: 'GET', path: '/ready', responses: { 200: readiness, 503: readiness } },
  ),
  metrics: route(
    {
      auth: 'none',
      access: 'public',
      raw: 'text',
      errors: ['UNAUTHORIZED'],
      summary: 'Metrics in the Prometheus text format',
      description: 'For whoever sends METRICS_TOKEN as a Bearer token; without one, for the machine itself.',
    },
    {
      method: 'GET',
      path: '/metrics',
      responses: { 200: c.otherResponse({ contentType: 'text/plain', body: z.string() }) },
    },
  ),
} satisfies AppRouter;
