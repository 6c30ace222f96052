import { z } from 'zod/v4';
import { c } from './route-meta.ts';

/** `GET /metrics`, the same in both services: its metadata and its route. */
export const metricsMeta = {
  auth: 'none',
  access: 'public',
  raw: 'text',
  errors: ['UNAUTHORIZED'],
  summary: 'Read metrics in the Prometheus text format',
  description:
    'Send METRICS_TOKEN as a Bearer token. An installation without METRICS_TOKEN answers only requests from its own machine.',
} as const;

export const metricsRoute = {
  method: 'GET',
  path: '/metrics',
  responses: { 200: c.otherResponse({ contentType: 'text/plain', body: z.string() }) },
} as const;
