import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { billingRoute } from './route.ts';

export const billingCycle = z.enum(['monthly', 'yearly']);
export type BillingCycle = z.infer<typeof billingCycle>;

const cents = z.int().nonnegative();

/** A plan on offer, with its price for one cycle. */
export const plan = z
  .object({
    code: z.string(),
    product_code: z
      .string()
      .meta({ description: 'The code of the product, which its monthly and its yearly plan share' }),
    display_name: z.string(),
    display_subtitle: z.string(),
    cycle: billingCycle,
    currency: z.string().meta({ examples: ['BRL'] }),
    price_cents: cents.meta({ description: 'The price of one billing cycle' }),
    trial_days: z.int().nonnegative(),
    sort_order: z.int(),
  })
  .meta({ id: 'Plan' });
export type PlanDto = z.infer<typeof plan>;

export const addon = z
  .object({
    code: z.string(),
    display_name: z.string(),
    description: z.string(),
    cycle: billingCycle,
    currency: z.string(),
    price_cents: cents.meta({ description: 'The price of one unit for one billing cycle' }),
    unit_label: z.string(),
    max_quantity: z.int().positive(),
  })
  .meta({ id: 'Addon' });
export type AddonDto = z.infer<typeof addon>;

export const catalog = {
  listPlans: billingRoute(
    { auth: 'none', access: 'public', summary: 'List plans', description: 'By sort_order, ascending.' },
    {
      method: 'GET',
      path: '/v1/billing/plans',
      query: z.object({
        cycle: billingCycle
          .optional()
          .meta({ description: 'Only plans of this billing cycle; default: both cycles' }),
      }),
      responses: { 200: z.object({ data: z.array(plan) }).meta({ id: 'PlanList' }) },
    },
  ),
  listAddons: billingRoute(
    { auth: 'none', access: 'public', summary: 'List add-ons', description: 'Those on offer.' },
    {
      method: 'GET',
      path: '/v1/billing/addons',
      responses: { 200: z.object({ data: z.array(addon) }).meta({ id: 'AddonList' }) },
    },
  ),
} satisfies AppRouter;
