import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { refreshQuery } from '../fields.ts';
import { NETWORK_ERRORS, route } from '../route-meta.ts';

export const lid = z.object({ lid: z.string(), phone: z.string() }).meta({ id: 'Lid' });
export type Lid = z.infer<typeof lid>;

/** Anonymous ids. */
export const lids = {
  get: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'INSTANCE_NOT_FOUND',
      errors: ['NOT_FOUND', ...NETWORK_ERRORS],
      summary: 'Read the phone number behind an anonymous id',
      description: 'NOT_FOUND when the network does not reveal it.',
    },
    {
      method: 'GET',
      path: '/v1/instances/:instanceId/lids/:lid',
      query: z.object({ refresh: refreshQuery }),
      responses: { 200: lid },
    },
  ),
} satisfies AppRouter;
