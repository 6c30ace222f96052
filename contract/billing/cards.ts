import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId, namedId } from '../fields.ts';
import { NAME_MAX_CHARS } from '../limits.ts';
import { c } from '../route-meta.ts';
import { billingRoute } from './route.ts';

/** The number, the CVV and the provider's token are never shown. */
export const card = z
  .object({
    id: integerId,
    brand: z.string(),
    last4: z.string(),
    exp_month: z.int(),
    exp_year: z.int(),
    holder_name: z.string().nullable(),
    is_default: z.boolean(),
  })
  .meta({ id: 'Card' });
export type CardDto = z.infer<typeof card>;

export const tokenizeCardBody = z
  .object({
    billing_profile_id: namedId,
    number: z.string().min(1).max(40),
    holder_name: z.string().trim().max(NAME_MAX_CHARS).nullish(),
    exp_month: z.int(),
    exp_year: z.int(),
    cvv: z.string().min(1).max(8),
  })
  .meta({ id: 'TokenizeCardRequest' });
export type TokenizeCardBody = z.infer<typeof tokenizeCardBody>;

export const cards = {
  list: billingRoute(
    { auth: 'any', access: 'owner_admin', summary: 'List cards' },
    {
      method: 'GET',
      path: '/v1/billing/cards',
      responses: { 200: z.object({ data: z.array(card) }).meta({ id: 'CardList' }) },
    },
  ),
  tokenize: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      errors: ['PROFILE_NOT_FOUND', 'CARD_REJECTED'],
      bodyCodes: { missing: 'MISSING_FIELDS', invalid: 'INVALID_JSON' },
      summary: 'Store a card',
      description: 'The number and the CVV go to the payment provider; this service does not store them.',
    },
    { method: 'POST', path: '/v1/billing/cards/tokenize', body: tokenizeCardBody, responses: { 201: card } },
  ),
  makeDefault: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'INVALID_ID',
      errors: ['NOT_FOUND', 'DB_ERROR'],
      summary: 'Make a card the default',
    },
    {
      method: 'PATCH',
      path: '/v1/billing/cards/:id/default',
      body: c.noBody(),
      responses: { 204: c.noBody() },
    },
  ),
  remove: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'INVALID_ID',
      errors: ['DB_ERROR'],
      summary: 'Remove a card',
      description: 'Idempotent.',
    },
    { method: 'DELETE', path: '/v1/billing/cards/:id', body: c.noBody(), responses: { 204: c.noBody() } },
  ),
} satisfies AppRouter;
