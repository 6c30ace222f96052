import { z } from 'zod/v4';

/** What a network says of businesses, with bounds: whoever filled it in is a stranger. */

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

export const businessAnswer = z.object({
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

export const productAnswer = z.object({
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
export type ProductAnswer = z.output<typeof productAnswer>;

/** Of one page, and of one collection. */
const PRODUCTS_MAX = 1_000;

export const catalogAnswer = z.object({
  products: list(productAnswer, PRODUCTS_MAX),
  next_cursor: z.string().min(1).max(CURSOR_MAX).nullable().catch(null),
});

export const collectionsAnswer = list(
  z.object({
    id: z.string().min(1).max(ID_MAX),
    name: text(NAME_MAX),
    status: text(ID_MAX),
    products: list(productAnswer, PRODUCTS_MAX),
  }),
  100,
);
