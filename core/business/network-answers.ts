import { z } from 'zod/v4';
import type { BusinessProfile, NetworkActions, Product } from '../network/actions.ts';

/** The parsers of a network's answers about businesses. They bound every field: strangers filled them in. */

const text = (maxChars: number) =>
  z
    .string()
    .transform((value) => value.slice(0, maxChars))
    .catch('');
const list = <T extends z.ZodType>(item: T, max: number) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((values) =>
      values.slice(0, max).flatMap((value): z.output<T>[] => {
        const parsed = item.safeParse(value);
        return parsed.success ? [parsed.data] : [];
      }),
    );

const ID_MAX = 128;
const NAME_MAX = 1_024;
const TEXT_MAX = 8_192;
const URL_MAX = 2_048;
const CURSOR_MAX = 512;

export const businessAnswer: z.ZodType<BusinessProfile> = z.object({
  jid: z.string().max(64),
  address: text(NAME_MAX),
  description: text(TEXT_MAX),
  email: text(NAME_MAX),
  categories: list(z.object({ id: text(ID_MAX), name: text(NAME_MAX) }), 100),
  business_hours_timezone: text(ID_MAX),
  business_hours: list(
    z.object({
      day_of_week: text(ID_MAX),
      mode: text(ID_MAX),
      open_time: text(ID_MAX),
      close_time: text(ID_MAX),
    }),
    100,
  ),
});

const product: z.ZodType<Product> = z.object({
  id: z.string().min(1).max(ID_MAX),
  name: text(NAME_MAX),
  description: text(TEXT_MAX),
  retailer_id: text(NAME_MAX),
  url: text(URL_MAX),
  price: z.number().transform(Math.round).pipe(z.int()).catch(0),
  currency: text(ID_MAX),
  is_hidden: z.boolean().catch(false),
  review_status: text(ID_MAX),
  /** One that was cut would be another address. */
  image_url: z.string().max(URL_MAX).catch(''),
});

/** Maximum products of one page, and of one collection. */
const PRODUCTS_MAX = 1_000;

export const catalogAnswer: z.ZodType<NetworkActions['business_catalog']['answer']> = z.object({
  products: list(product, PRODUCTS_MAX),
  next_cursor: z.string().min(1).max(CURSOR_MAX).nullable().catch(null),
});

export const collectionsAnswer: z.ZodType<NetworkActions['business_collections']['answer']> = list(
  z.object({
    id: z.string().min(1).max(ID_MAX),
    name: text(NAME_MAX),
    status: text(ID_MAX),
    products: list(product, PRODUCTS_MAX),
  }),
  100,
);
