import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { timestamp } from '../fields.ts';
import { SIMULATED_CLOCK_MAX_S } from '../limits.ts';
import { billingRoute } from './route.ts';

export const SIMULATED_ACTIONS = [
  'pay',
  'confirm',
  'overdue',
  'fail',
  'refund',
  'chargeback',
  'delete-charge',
  'delete-subscription',
] as const;

export const simulatedAction = z.enum(SIMULATED_ACTIONS);
export type SimulatedAction = z.infer<typeof simulatedAction>;

/** Drives the simulated payment provider; served while it is in use, so never with a real one. */
export const billingSimulator = {
  act: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      errors: ['NOT_FOUND', 'CONFLICT'],
      summary: 'Simulate an action at the payment provider',
      description:
        'Applies to the given payment, or to the newest payment that allows the action. The provider then sends its webhooks.',
    },
    {
      method: 'POST',
      path: '/v1/billing/simulator/actions',
      body: z
        .object({ action: simulatedAction, payment_id: z.string().max(100).nullish() })
        .meta({ id: 'SimulateRequest' }),
      responses: {
        202: z
          .object({ action: simulatedAction, payment_id: z.string().nullable(), events: z.array(z.string()) })
          .meta({ id: 'Simulated' }),
      },
    },
  ),
  advanceClock: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      errors: ['CONFLICT'],
      summary: "Move the company's billing clock forward",
      description:
        'Trials and grace periods end and charges fall due as they would on that day, for this company only. The clock can move by ten years in all.',
    },
    {
      method: 'POST',
      path: '/v1/billing/simulator/clock',
      body: z
        .object({
          advance_seconds: z.int().nonnegative().max(SIMULATED_CLOCK_MAX_S),
        })
        .meta({ id: 'SimulateClockRequest' }),
      responses: {
        200: z.object({ now: timestamp, offset_seconds: z.int() }).meta({ id: 'SimulatedClock' }),
      },
    },
  ),
} satisfies AppRouter;
