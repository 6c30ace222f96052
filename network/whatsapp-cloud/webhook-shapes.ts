/**
 * The posts of the network, as far as this driver reads them. Every field is optional and unknown fields are passed
 * over: one field of a new kind must not cost the message that carries it.
 */
import { z } from 'zod/v4';

const text = z.string();
const maybe = text.optional().catch(undefined);
/**
 * A list of which only the first `max` items that are objects are judged: a body of 3 MB has room for a million others, and each
 * that is refused costs a microsecond.
 */
function few<T extends z.ZodType>(item: T, max: number) {
  const judged = z.array(item).optional().catch(undefined);
  return z.preprocess((value) => (Array.isArray(value) ? firstObjects(value, max) : undefined), judged);
}

function firstObjects(values: readonly unknown[], max: number): unknown[] {
  return values.slice(0, max).filter((value) => typeof value === 'object' && value !== null);
}

const CARDS_MAX = 300;
/** Details of each kind on a card. */
const DETAILS_MAX = 10;
const PRODUCTS_MAX = 300;
const ERRORS_MAX = 4;

/** Seconds since 1970, as a text or a number. */
const seconds = z.union([text, z.number()]).optional().catch(undefined);

const media = z
  .looseObject({
    id: text,
    mime_type: maybe,
    filename: maybe,
    caption: maybe,
    voice: z.boolean().optional().catch(undefined),
    animated: z.boolean().optional().catch(undefined),
    sha256: maybe,
  })
  .optional()
  .catch(undefined);
const card = z.looseObject({
  /** Whole, instead of its parts, where somebody was asked for their number. */
  vcard: maybe,
  name: z.looseObject({ formatted_name: maybe }).optional().catch(undefined),
  phones: few(z.looseObject({ phone: maybe, wa_id: maybe }), DETAILS_MAX),
  emails: few(z.looseObject({ email: maybe }), DETAILS_MAX),
  urls: few(z.looseObject({ url: maybe }), DETAILS_MAX),
  org: z.looseObject({ company: maybe, department: maybe, title: maybe }).optional().catch(undefined),
  addresses: few(
    z.looseObject({ street: maybe, city: maybe, state: maybe, zip: maybe, country: maybe }),
    DETAILS_MAX,
  ),
  birthday: maybe,
});
const reply = z.looseObject({ id: maybe, title: maybe }).optional().catch(undefined);

export const messageShape = z.looseObject({
  id: text,
  from: maybe,
  from_user_id: maybe,
  to: maybe,
  to_user_id: maybe,
  group_id: maybe,
  timestamp: seconds,
  type: maybe,
  text: z.looseObject({ body: maybe }).optional().catch(undefined),
  image: media,
  video: media,
  audio: media,
  document: media,
  sticker: media,
  location: z
    .looseObject({ latitude: z.coerce.number(), longitude: z.coerce.number(), name: maybe, address: maybe })
    .optional()
    .catch(undefined),
  contacts: few(card, CARDS_MAX),
  reaction: z.looseObject({ message_id: text, emoji: maybe }).optional().catch(undefined),
  interactive: z
    .looseObject({
      button_reply: reply,
      list_reply: reply,
      nfm_reply: z.looseObject({ name: maybe, response_json: maybe }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  button: z.looseObject({ payload: maybe, text: maybe }).optional().catch(undefined),
  order: z
    .looseObject({ catalog_id: maybe, text: maybe, product_items: few(z.looseObject({}), PRODUCTS_MAX) })
    .optional()
    .catch(undefined),
  system: z
    .looseObject({ type: maybe, wa_id: maybe, user_id: maybe, previous_user_id: maybe })
    .optional()
    .catch(undefined),
  edit: z
    .looseObject({ original_message_id: text, message: z.looseObject({}).optional().catch(undefined) })
    .optional()
    .catch(undefined),
  revoke: z.looseObject({ original_message_id: text }).optional().catch(undefined),
  context: z
    .looseObject({
      id: maybe,
      forwarded: z.boolean().optional().catch(undefined),
      frequently_forwarded: z.boolean().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});
export type WebhookMessage = z.infer<typeof messageShape>;

export const statusShape = z.looseObject({
  id: text,
  status: text,
  timestamp: seconds,
  recipient_id: maybe,
  recipient_user_id: maybe,
  biz_opaque_callback_data: maybe,
  errors: few(z.looseObject({ code: z.number() }), ERRORS_MAX),
  pricing: z
    .looseObject({ billable: z.boolean().optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

export const contactShape = z.looseObject({
  wa_id: maybe,
  user_id: maybe,
  profile: z.looseObject({ name: maybe }).optional().catch(undefined),
});

const items = z.array(z.unknown()).optional().catch(undefined);

export const valueShape = z.looseObject({
  metadata: z.looseObject({ phone_number_id: maybe }).optional().catch(undefined),
  contacts: items,
  messages: items,
  statuses: items,
  message_echoes: items,
  event: maybe,
  display_phone_number: maybe,
  message_template_id: z.union([text, z.number()]).optional().catch(undefined),
  message_template_name: maybe,
  message_template_language: maybe,
  reason: maybe,
  previous_quality_score: maybe,
  new_quality_score: maybe,
  previous_category: maybe,
  new_category: maybe,
  correct_category: maybe,
  ban_info: z.looseObject({ waba_ban_state: maybe }).optional().catch(undefined),
});

/** Entries and changes are judged one by one, by whoever counts them. */
export const bodyShape = z.looseObject({ entry: z.unknown() });
export const entryShape = z.looseObject({ id: maybe, time: seconds, changes: z.unknown() });
export const changeShape = z.looseObject({ field: maybe, value: z.unknown() });
