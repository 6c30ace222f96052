import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { billingRoute } from './route.ts';

/** The fields that every provider event carries; the rest varies by event and is kept as it came. */
export const providerEventBody = z
  .looseObject({
    id: z.string().min(1).max(255),
    event: z.string().min(1).max(100),
    dateCreated: z.string().max(40).nullish(),
    payment: z.looseObject({ id: z.string().min(1).max(100) }).nullish(),
    subscription: z.looseObject({ id: z.string().min(1).max(100) }).nullish(),
  })
  .meta({ id: 'ProviderEvent' });
export type ProviderEventBody = z.infer<typeof providerEventBody>;

export const providerWebhook = {
  ingest: billingRoute(
    {
      auth: 'none',
      access: 'public',
      errors: ['UNAUTHORIZED'],
      bodyCodes: { missing: 'BAD_REQUEST', invalid: 'BAD_REQUEST' },
      summary: 'Receive an event of the payment provider',
      description:
        'The header asaas-access-token authenticates the provider. The service stores the event, answers, and processes it afterwards. An event that it knows already gets the same answer and is not processed again.',
    },
    {
      method: 'POST',
      path: '/v1/webhooks/asaas',
      body: providerEventBody,
      responses: { 200: z.object({ received: z.literal(true) }).meta({ id: 'ProviderEventReceived' }) },
    },
  ),
} satisfies AppRouter;
