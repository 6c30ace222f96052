import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray, boundedRecord } from '../bounded.ts';
import { integerQuery } from '../fields.ts';
import {
  FIELD_MAX_CHARS,
  TEMPLATE_APPS_MAX,
  TEMPLATE_BODY_MAX_CHARS,
  TEMPLATE_COMPONENTS_MAX,
  TEMPLATE_EXAMPLES_MAX,
  TEMPLATE_REVIEW_BUTTONS_MAX,
  TEMPLATES_LIMIT,
  URL_MAX_CHARS,
} from '../limits.ts';
import { c, NETWORK_ERRORS, route } from '../route-meta.ts';
import { templateLanguage, templateName } from './official-bodies.ts';

const category = z.enum(['AUTHENTICATION', 'MARKETING', 'UTILITY']).meta({
  description: 'The category, which decides the price and the rules of the review',
  examples: ['UTILITY'],
});

const short = z.string().max(FIELD_MAX_CHARS);

const supportedApp = z.object({
  package_name: short.meta({ description: 'The package name of the app', examples: ['com.example.shop'] }),
  signature_hash: short.meta({ description: "The hash of the app's signing key", examples: ['K8a/AINcGX7'] }),
});

const button = z.object({
  type: z.enum(['QUICK_REPLY', 'URL', 'PHONE_NUMBER', 'COPY_CODE', 'OTP', 'FLOW']),
  text: short.optional(),
  url: z.string().max(URL_MAX_CHARS).optional(),
  phone_number: short.optional(),
  example: z
    .union([short, boundedArray(short, { max: TEMPLATE_EXAMPLES_MAX })])
    .optional()
    .meta({ description: 'An example value of the placeholder in a URL, or of a code' }),
  otp_type: z.enum(['COPY_CODE', 'ONE_TAP', 'ZERO_TAP']).optional(),
  autofill_text: short
    .optional()
    .meta({ description: 'ONE_TAP, ZERO_TAP: the text of the button that fills the code in' }),
  supported_apps: boundedArray(supportedApp, { max: TEMPLATE_APPS_MAX })
    .optional()
    .meta({ description: 'ONE_TAP, ZERO_TAP: the Android apps that take the code; Meta requires them' }),
  zero_tap_terms_accepted: z
    .boolean()
    .optional()
    .meta({ description: "ZERO_TAP: whether you accept Meta's terms for it; Meta requires true" }),
  flow_id: short.optional(),
});

const component = z.object({
  type: z.enum(['HEADER', 'BODY', 'FOOTER', 'BUTTONS']),
  format: z
    .enum(['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION'])
    .optional()
    .meta({ description: 'The format of a header; on headers only' }),
  text: z
    .string()
    .max(TEMPLATE_BODY_MAX_CHARS)
    .optional()
    .meta({ description: 'The text, with placeholders such as {{1}}, {{2}} or {{name}}' }),
  example: boundedRecord(short, z.unknown(), { max: 8 }).optional().meta({
    description: 'Example values of the placeholders for the review, e.g. {"body_text": [["Ana"]]}',
  }),
  buttons: boundedArray(button, { max: TEMPLATE_REVIEW_BUTTONS_MAX }).optional(),
  add_security_recommendation: z
    .boolean()
    .optional()
    .meta({ description: 'AUTHENTICATION: whether the body has a security recommendation' }),
  code_expiration_minutes: z
    .int()
    .min(1)
    .max(90)
    .optional()
    .meta({ description: 'AUTHENTICATION: the lifetime of the code that the footer names, in minutes' }),
});

export const createTemplateBody = z
  .object({
    name: templateName.meta({ description: 'The name of the template', examples: ['order_shipped'] }),
    language: templateLanguage.meta({ description: 'The language of the text', examples: ['en_US'] }),
    category,
    components: boundedArray(component, { min: 1, max: TEMPLATE_COMPONENTS_MAX }).meta({
      description: 'The components, as Meta defines them',
      examples: [[{ type: 'BODY', text: 'Your order is on its way.' }]],
    }),
  })
  .meta({ id: 'CreateTemplateRequest' });

/** In Meta's words (contract/field-docs/chats.ts). */
export const messageTemplate = z
  .object({
    id: z.string(),
    name: z.string(),
    language: z.string(),
    category: z.string(),
    status: z.string(),
    rejected_reason: z.string().nullable(),
    quality: z.string().nullable(),
    components: z.array(z.record(z.string(), z.unknown())),
  })
  .meta({ id: 'MessageTemplate' });
export type MessageTemplate = z.infer<typeof messageTemplate>;

const page = z
  .object({
    templates: z.array(messageTemplate),
    next_page_cursor: z
      .string()
      .optional()
      .meta({ description: 'The cursor of the next page; absent on the last page' }),
  })
  .meta({ id: 'MessageTemplateList' });
export type MessageTemplateList = z.infer<typeof page>;

const TEMPLATES = '/v1/instances/:instanceId/templates' as const;
const ASKING = {
  auth: 'any',
  access: 'owner_admin',
  notFound: 'INSTANCE_NOT_FOUND',
  errors: [...NETWORK_ERRORS, 'BAD_REQUEST'],
} as const;

/** Templates that Meta reviews, of the business account of an official number. */
export const templates = {
  list: route(
    {
      ...ASKING,
      summary: 'List the templates and the state of their review',
      description:
        'Reads them from Meta, including templates created elsewhere. All numbers of one business account share them.',
    },
    {
      method: 'GET',
      path: TEMPLATES,
      query: z.object({
        limit: integerQuery(TEMPLATES_LIMIT),
        cursor: z
          .string()
          .max(FIELD_MAX_CHARS)
          .optional()
          .meta({ description: 'The next_page_cursor of the previous page' }),
        name: templateName.optional().meta({ description: 'Only templates of this name' }),
        status: z
          .string()
          .regex(/^[A-Z_]{1,40}$/, 'must be a word like APPROVED')
          .optional()
          .meta({ description: 'Only templates in this state, e.g. APPROVED' }),
      }),
      responses: { 200: page },
    },
  ),
  create: route(
    {
      ...ASKING,
      errors: [...ASKING.errors, 'CONFLICT'],
      summary: 'Submit a template to Meta for approval',
      description:
        "The template can be sent once its status is APPROVED, which the event message_template.status_changed reports. When Meta does not accept the template, 400 BAD_REQUEST gives Meta's reason.",
    },
    { method: 'POST', path: TEMPLATES, body: createTemplateBody, responses: { 201: messageTemplate } },
  ),
  remove: route(
    {
      ...ASKING,
      errors: [...ASKING.errors, 'NOT_FOUND'],
      summary: 'Delete a template',
      description:
        'Deletes it in all languages, or only in the given one. For some weeks Meta accepts no other template with this name.',
    },
    {
      method: 'DELETE',
      path: `${TEMPLATES}/:templateName`,
      query: z.object({
        language: templateLanguage
          .optional()
          .meta({ description: 'The only language to delete; default: all' }),
      }),
      responses: { 204: c.noBody() },
    },
  ),
} satisfies AppRouter;
