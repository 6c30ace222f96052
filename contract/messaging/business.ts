import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerQuery, personQuery } from '../fields.ts';
import { CATALOG_LIMIT, COLLECTIONS_LIMIT, FIELD_MAX_CHARS } from '../limits.ts';
import { NETWORK_ERRORS, route } from '../route-meta.ts';

export const businessProfile = z
  .object({
    jid: z.string(),
    address: z.string(),
    description: z.string(),
    email: z.string(),
    categories: z.array(z.object({ id: z.string(), name: z.string() })),
    business_hours_timezone: z.string(),
    business_hours: z.array(
      z.object({ day_of_week: z.string(), mode: z.string(), open_time: z.string(), close_time: z.string() }),
    ),
  })
  .meta({ id: 'BusinessProfile' });
export type BusinessProfile = z.infer<typeof businessProfile>;

export const product = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    retailer_id: z.string(),
    url: z.string(),
    price: z.int().meta({ description: 'The price in the smallest unit of the currency' }),
    currency: z.string(),
    is_hidden: z.boolean(),
    review_status: z.string(),
    image_url: z.string().meta({
      description:
        'The URL of the picture, stored by this service for 7 days; empty when it could not be fetched',
    }),
  })
  .meta({ id: 'Product' });
export type Product = z.infer<typeof product>;

export const catalog = z
  .object({
    products: z.array(product),
    next_page_cursor: z
      .string()
      .optional()
      .meta({ description: 'The cursor of the next page; absent on the last page' }),
  })
  .meta({ id: 'Catalog' });
export type Catalog = z.infer<typeof catalog>;

export const collections = z
  .object({
    collections: z.array(
      z.object({ id: z.string(), name: z.string(), status: z.string(), products: z.array(product) }),
    ),
  })
  .meta({ id: 'Collections' });
export type Collections = z.infer<typeof collections>;

const BUSINESS = '/v1/instances/:instanceId/business' as const;
const READ = {
  auth: 'any',
  access: 'owner_admin',
  notFound: 'INSTANCE_NOT_FOUND',
  errors: [...NETWORK_ERRORS, 'INVALID_PHONE', 'INVALID_RECIPIENT'],
} as const;
const jid = personQuery.meta({
  description: 'The phone number or JID of the business; default: the instance itself',
});
const IMAGES =
  'The service fetches the pictures from the network and keeps them for 7 days. When a fetch fails, image_url is empty.';

/** The public data of businesses; read only. */
export const business = {
  profile: route(
    { ...READ, errors: [...READ.errors, 'NOT_FOUND'], summary: 'Read a business profile' },
    {
      method: 'GET',
      path: `${BUSINESS}/profile`,
      query: z.object({ jid }),
      responses: { 200: businessProfile },
    },
  ),
  catalog: route(
    { ...READ, summary: 'List the products of a business', description: IMAGES },
    {
      method: 'GET',
      path: `${BUSINESS}/catalog`,
      query: z.object({
        jid,
        limit: integerQuery(CATALOG_LIMIT),
        cursor: z
          .string()
          .max(FIELD_MAX_CHARS)
          .optional()
          .meta({ description: 'The next_page_cursor of the previous page' }),
      }),
      responses: { 200: catalog },
    },
  ),
  collections: route(
    { ...READ, summary: 'List the collections of a business', description: IMAGES },
    {
      method: 'GET',
      path: `${BUSINESS}/collections`,
      query: z.object({ jid, limit: integerQuery(COLLECTIONS_LIMIT) }),
      responses: { 200: collections },
    },
  ),
} satisfies AppRouter;
