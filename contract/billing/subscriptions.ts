import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { integerId, namedId, timestamp } from '../fields.ts';
import { c } from '../route-meta.ts';
import { billingCycle } from './catalog.ts';
import { billingRoute } from './route.ts';

export const subscriptionStatus = z.enum([
  'trialing',
  'active',
  'past_due',
  'suspended',
  'cancelled',
  'expired',
]);
export type SubscriptionStatus = z.infer<typeof subscriptionStatus>;

export const billingType = z.enum(['pix', 'boleto', 'credit_card']);
export type BillingType = z.infer<typeof billingType>;

/** A line of the subscription. The plan's line always has quantity 1. */
export const subscriptionItem = z
  .object({
    id: integerId,
    type: z.enum(['plan', 'addon']),
    code: z.string(),
    display_name: z.string(),
    quantity: z.int().positive(),
    unit_price_cents: z
      .int()
      .nonnegative()
      .meta({ description: 'The price of one unit for one billing cycle of the plan' }),
    scheduled_for_next_cycle: z
      .boolean()
      .meta({ description: 'Whether the item is active already but first billed by the next invoice' }),
  })
  .meta({ id: 'SubscriptionItem' });
export type SubscriptionItemDto = z.infer<typeof subscriptionItem>;

const scheduled = 'Set while a plan change is scheduled; else null';
export const subscription = z
  .object({
    id: integerId,
    company_id: integerId,
    plan_code: z.string(),
    plan_display_name: z.string(),
    plan_cycle: billingCycle,
    status: subscriptionStatus,
    billing_type: billingType,
    trial_ends_at: timestamp,
    current_period_end: timestamp,
    asaas_subscription_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the subscription at the provider' }),
    cancel_at_period_end: z.boolean(),
    next_plan_code: z.string().nullable().meta({ description: scheduled }),
    next_plan_display_name: z.string().nullable().meta({ description: scheduled }),
    next_plan_cycle: billingCycle.nullable().meta({ description: scheduled }),
    items: z.array(subscriptionItem),
  })
  .meta({ id: 'Subscription' });
export type SubscriptionDto = z.infer<typeof subscription>;

export const createSubscriptionBody = z
  .object({
    // An absent one names no plan, and no way to pay: those have codes of their own.
    plan_code: z.string().max(100).default(''),
    billing_type: z
      .string()
      .max(40)
      .default('')
      .meta({ enum: ['pix', 'boleto', 'credit_card'] }),
    card_id: namedId.nullish().meta({ description: 'The id of the card; required for credit_card' }),
    addons: boundedArray(z.object({ code: z.string().max(100), quantity: z.number().default(1) }), {
      max: 100,
    })
      .nullish()
      .meta({ description: 'The add-ons to subscribe to; the service adds all or none' }),
  })
  .meta({ id: 'CreateSubscriptionRequest' });
export type CreateSubscriptionBody = z.infer<typeof createSubscriptionBody>;

export const changePlanBody = z
  .object({ new_plan_code: z.string().min(1).max(100) })
  .meta({ id: 'ChangePlanRequest' });
export const planChange = z
  .object({ status: z.literal('scheduled'), new_plan_code: z.string() })
  .meta({ id: 'PlanChange' });

export const cancelBody = z
  .object({
    immediate: z
      .boolean()
      .nullish()
      .meta({ description: 'Whether to cancel at once; default false: at the end of the period' }),
    reason: z.string().max(500).nullish().meta({ description: 'The reason; default user_request' }),
    at_period_end: z
      .boolean()
      .nullish()
      .meta({ description: 'The opposite of immediate, which it overrides when given' }),
  })
  .meta({ id: 'CancelSubscriptionRequest' });
export type CancelBody = z.infer<typeof cancelBody>;

export const addItemBody = z
  .object({
    addon_code: z.string().max(100).default(''),
    quantity: z.number().nullish().meta({ description: 'The number of units; omitted or 0 counts as 1' }),
  })
  .meta({ id: 'AddItemRequest' });
export const addedItem = z
  .object({
    id: integerId,
    subscription_id: integerId,
    addon_code: z.string(),
    quantity: z
      .int()
      .positive()
      .meta({ description: 'The quantity that the subscription has now, earlier units included' }),
    scheduled_for_next_cycle: z.boolean(),
  })
  .meta({ id: 'AddedItem' });
export type AddedItem = z.infer<typeof addedItem>;

const PATH = '/v1/billing/subscriptions';

export const subscriptions = {
  current: billingRoute(
    {
      auth: 'any',
      access: 'owner_admin',
      errors: ['SUBSCRIPTION_NOT_FOUND'],
      summary: 'Read the subscription',
      description: 'Returns the newest subscription of the company, whatever its state.',
    },
    { method: 'GET', path: `${PATH}/current`, responses: { 200: subscription } },
  ),
  create: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      errors: [
        'PLAN_NOT_FOUND',
        'PROFILE_REQUIRED',
        'INVALID_BILLING_TYPE',
        'CARD_REQUIRED',
        'CARD_REJECTED',
        'INVALID_QUANTITY',
        'ADDON_NOT_FOUND',
        'SUBSCRIPTION_EXISTS',
      ],
      statuses: { PLAN_NOT_FOUND: [400], ADDON_NOT_FOUND: [400] },
      summary: 'Subscribe',
      description:
        'Starts a trial of 30 days; the first charge is due when it ends. Each company and document has one trial: a later subscription is `trialing` until that trial ends. After the trial, a new subscription is `expired` until its first charge, which is due at once, is paid.',
    },
    { method: 'POST', path: PATH, body: createSubscriptionBody, responses: { 201: subscription } },
  ),
  changePlan: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'INVALID_ID',
      errors: ['ALREADY_ON_PLAN', 'SUBSCRIPTION_NOT_ACTIVE', 'PLAN_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND'],
      summary: 'Schedule a plan change',
      description: 'The plan changes when the next payment is received.',
    },
    { method: 'POST', path: `${PATH}/:id/change-plan`, body: changePlanBody, responses: { 202: planChange } },
  ),
  cancel: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'INVALID_ID',
      errors: ['SUBSCRIPTION_NOT_FOUND', 'SUBSCRIPTION_NOT_ACTIVE'],
      summary: 'Cancel the subscription',
      description:
        'Cancels at the end of the period, or at once. Cancelling a cancelled subscription changes nothing.',
    },
    { method: 'POST', path: `${PATH}/:id/cancel`, body: cancelBody, responses: { 204: c.noBody() } },
  ),
  addItem: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'INVALID_ID',
      errors: ['INVALID_QUANTITY', 'ADDON_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND', 'SUBSCRIPTION_NOT_ACTIVE'],
      summary: 'Add an add-on',
      description:
        'The add-on is active at once and billed by the next invoice. The quantity adds to what the subscription already has. A subscription that ends with its period takes no more add-ons.',
    },
    { method: 'POST', path: `${PATH}/:id/items`, body: addItemBody, responses: { 202: addedItem } },
  ),
  removeItem: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'INVALID_ID',
      errors: ['ITEM_NOT_FOUND'],
      summary: 'Remove an add-on',
    },
    {
      method: 'DELETE',
      path: `${PATH}/:id/items/:itemId`,
      body: c.noBody(),
      responses: { 204: c.noBody() },
    },
  ),
} satisfies AppRouter;
