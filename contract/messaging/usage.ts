import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { route } from '../route-meta.ts';

const count = z.int().nonnegative();

/** Counts of the last 24 hours. */
export const usageCounts = z
  .object({
    messages_today: count,
    messages_sent_today: count,
    messages_received_today: count,
    delivered_today: count.meta({ description: 'Outbound messages that reached delivered' }),
    failed_today: count.meta({ description: 'Outbound messages that failed' }),
  })
  .meta({ id: 'Usage' });
export type UsageCounts = z.infer<typeof usageCounts>;

export const usage = {
  get: route(
    { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND', summary: 'Usage of the last 24 hours' },
    { method: 'GET', path: '/v1/instances/:instanceId/usage', responses: { 200: usageCounts } },
  ),
} satisfies AppRouter;
