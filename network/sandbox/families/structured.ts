/** Families whose content is a record of fields, shown unchanged. */
import { z } from 'zod/v4';
import { type ContentFamily, mentions, noWords } from './family.ts';

const text = z.string().min(1);

/** `{latitude, longitude, name?, address?}`. */
const location: ContentFamily = {
  ...same({
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
    name: z.string().optional(),
    address: z.string().optional(),
    mentions,
  }),
  words: (content) => (content.name as string | undefined) ?? '',
};

/** `{contacts: [{name, phone?, vcard}]}`: two or more form one grouped card. */
const contact: ContentFamily = {
  ...same({
    contacts: z
      .array(z.looseObject({ name: z.string(), phone: z.string().optional(), vcard: z.string() }))
      .min(1)
      .max(50),
    mentions,
  }),
  words: (content) => (content.contacts as { name: string }[]).map((card) => card.name).join(', '),
};

/** `{name, start_at, description?, end_at?, location?, link?}`. */
const event: ContentFamily = {
  ...same({
    name: text,
    start_at: text,
    description: z.string().optional(),
    end_at: z.string().optional(),
    location: z.string().optional(),
    link: z.string().optional(),
  }),
  words: (content) => content.name as string,
};

/** `{body_text, footer_text?, buttons}`: only from business accounts, as on the real network. */
const template: ContentFamily = {
  ...same({
    body_text: text,
    footer_text: z.string().optional(),
    buttons: z
      .array(z.object({ text, id: text }))
      .min(1)
      .max(3),
  }),
  words: (content) => content.body_text as string,
  admit: (_world, entering) => (entering.from.business ? entering : 'business_account_required'),
};

/** A tap on a button: `{message_id, button_id, text?}`. */
const templateReply: ContentFamily = {
  ...same({ message_id: text, button_id: text, text: z.string().optional() }),
  words: (content) => (content.text as string | undefined) ?? '',
};

/** Sent by phones only, not by instances: free fields, reported under `data.detail`. */
const order: ContentFamily = {
  content: z.never() as never,
  phoneBody: z.looseObject({ order_id: text }),
  words: noWords,
};
const product: ContentFamily = {
  content: z.never() as never,
  phoneBody: z.looseObject({ product_id: text }),
  words: noWords,
};
/** A message kind that no client knows yet. */
const unknown: ContentFamily = {
  content: z.never() as never,
  phoneBody: z.looseObject({}),
  words: noWords,
};

export const structuredFamilies = {
  location,
  contact,
  event,
  template,
  template_reply: templateReply,
  order,
  product,
  unknown,
};

/** Instances and phones send the same fields. */
function same<Shape extends z.ZodRawShape>(shape: Shape) {
  return { content: z.looseObject(shape), phoneBody: z.object(shape) };
}
