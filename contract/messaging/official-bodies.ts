/** The bodies of the sends that only official numbers have. */
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { recipient } from '../fields.ts';
import {
  INTERACTIVE_BODY_MAX_CHARS,
  INTERACTIVE_BUTTON_MAX_CHARS,
  INTERACTIVE_LINE_MAX_CHARS,
  LIST_DESCRIPTION_MAX_CHARS,
  LIST_ROW_ID_MAX_CHARS,
  LIST_ROWS_MAX,
  LIST_TITLE_MAX_CHARS,
  TEMPLATE_CARDS_MAX,
  TEMPLATE_COMPONENTS_MAX,
  TEMPLATE_PARAMETERS_MAX,
} from '../limits.ts';
import { httpUrl } from './send-bodies.ts';

const interactive = {
  to: recipient,
  header_text: z
    .string()
    .min(1)
    .max(INTERACTIVE_LINE_MAX_CHARS)
    .optional()
    .meta({ description: 'A line above the text' }),
  body_text: z.string().min(1).max(INTERACTIVE_BODY_MAX_CHARS),
  footer_text: z.string().min(1).max(INTERACTIVE_LINE_MAX_CHARS).optional(),
  button_text: z
    .string()
    .min(1)
    .max(INTERACTIVE_BUTTON_MAX_CHARS)
    .meta({ description: 'The text on the button', examples: ['Choose a day'] }),
};

const listRow = z.object({
  id: z
    .string()
    .min(1)
    .max(LIST_ROW_ID_MAX_CHARS)
    .meta({
      description: 'An id of your choice, which returns with the choice of the recipient',
      examples: ['tomorrow'],
    }),
  title: z
    .string()
    .min(1)
    .max(LIST_TITLE_MAX_CHARS)
    .meta({ description: 'The text of the row', examples: ['Tomorrow'] }),
  description: z
    .string()
    .min(1)
    .max(LIST_DESCRIPTION_MAX_CHARS)
    .optional()
    .meta({ description: 'A line below the title' }),
});
const listSection = z.object({
  title: z
    .string()
    .min(1)
    .max(LIST_TITLE_MAX_CHARS)
    .optional()
    .meta({ description: 'The title of the section; required when there are several' }),
  rows: boundedArray(listRow, { min: 1, tooFew: 'at least 1 row', max: LIST_ROWS_MAX }).meta({
    description: 'The rows to choose from',
  }),
});

export const sendListBody = z
  .object({
    ...interactive,
    sections: boundedArray(listSection, { min: 1, tooFew: 'at least 1 section', max: LIST_ROWS_MAX }).meta({
      description: `The sections, with at most ${LIST_ROWS_MAX} rows altogether`,
    }),
  })
  .superRefine(({ sections }, context) => {
    const rows = sections.flatMap((section) => section.rows);
    const fault = (message: string) => context.addIssue({ code: 'custom', path: ['sections'], message });
    if (rows.length > LIST_ROWS_MAX) fault(`at most ${LIST_ROWS_MAX} rows in all`);
    if (new Set(rows.map(({ id }) => id)).size < rows.length) fault('each row needs an id of its own');
    if (sections.length > 1 && sections.some(({ title }) => title === undefined))
      fault('each of several sections needs a title');
  })
  .meta({ id: 'SendListRequest' });

export const sendLinkButtonBody = z
  .object({ ...interactive, url: httpUrl.meta({ description: 'The URL that the button opens' }) })
  .meta({ id: 'SendLinkButtonRequest' });

const templateParameter = z
  .looseObject({
    type: z.string().min(1).max(40),
    text: z
      .string()
      .optional()
      .meta({ description: 'The text in place of the placeholder, where the type is text' }),
    parameter_name: z
      .string()
      .optional()
      .meta({ description: 'The name of the placeholder, in templates whose placeholders have names' }),
  })
  .meta({ description: 'A parameter as Meta defines it, e.g. {"type": "text", "text": "Ana"}' });

const filled = {
  sub_type: z
    .string()
    .max(40)
    .optional()
    .meta({ description: 'The kind of button: url, quick_reply, copy_code or flow; on buttons only' }),
  index: z
    .int()
    .min(0)
    .max(20)
    .optional()
    .meta({ description: 'The position of the button; 0 is the first' }),
  parameters: boundedArray(templateParameter, { max: TEMPLATE_PARAMETERS_MAX }).meta({
    description: 'The values of the placeholders, in order',
  }),
};

const templateCard = z.object({
  card_index: z
    .int()
    .min(0)
    .max(TEMPLATE_CARDS_MAX - 1)
    .meta({ description: 'The position of the card; 0 is the first' }),
  components: boundedArray(z.object({ type: z.enum(['header', 'body', 'button']), ...filled }), {
    max: TEMPLATE_COMPONENTS_MAX,
  }).meta({ description: 'The values of the placeholders of the card, component by component' }),
});

const templateComponent = z
  .object({
    type: z.enum(['header', 'body', 'button', 'carousel', 'limited_time_offer']),
    ...filled,
    parameters: filled.parameters.optional(),
    cards: boundedArray(templateCard, { max: TEMPLATE_CARDS_MAX })
      .optional()
      .meta({ description: 'The cards of a carousel, which has no parameters' }),
  })
  .superRefine(({ type, parameters, cards }, context) => {
    const needed = type === 'carousel' ? { cards } : { parameters };
    for (const [field, value] of Object.entries(needed))
      if (value === undefined) context.addIssue({ code: 'custom', path: [field], message: 'is required' });
  });

/** How Meta names templates, and their languages. */
export const templateName = z
  .string()
  .regex(/^[a-z0-9_]{1,512}$/, 'must be the name of a template: lower-case letters, digits and _');
export const templateLanguage = z
  .string()
  .regex(/^[a-z]{2,3}(_[A-Za-z]{2,4})?$/, 'must be a language like en_US');

export const sendApprovedTemplateBody = z
  .object({
    to: recipient,
    name: templateName.meta({
      description: 'The name of the approved template',
      examples: ['order_shipped'],
    }),
    language: templateLanguage.meta({
      description: 'The language of the approved text',
      examples: ['en_US'],
    }),
    components: boundedArray(templateComponent, { max: TEMPLATE_COMPONENTS_MAX })
      .optional()
      .meta({ description: 'The values of the placeholders, component by component' }),
  })
  .meta({ id: 'SendApprovedTemplateRequest' });
