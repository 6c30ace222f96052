import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { c } from '../route-meta.ts';
import { billingRoute } from './route.ts';

/** Requests of the messaging service to billing; the header X-Internal-Secret proves them. Not for users. */
export const billingInternal = {
  cancelSubscriptions: billingRoute(
    {
      auth: 'none',
      access: 'public',
      notFound: 'INVALID_ID',
      errors: ['UNAUTHORIZED'],
      summary: 'Cancel the subscriptions of a company at once, also at the provider',
      description: 'Cancels all or none: 503 when the provider cannot be reached, and then nothing changes.',
    },
    {
      method: 'POST',
      path: '/internal/v1/companies/:companyId/cancel-subscriptions',
      body: c.noBody(),
      responses: { 200: z.object({ cancelled: z.int() }) },
    },
  ),
} satisfies AppRouter;
