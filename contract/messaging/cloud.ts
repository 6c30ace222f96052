import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { c, route } from '../route-meta.ts';

const WEBHOOK = '/v1/webhooks/whatsapp-cloud/:instanceId' as const;
const fromMeta = {
  auth: 'none',
  access: 'public',
  isSigned: true,
  notFound: 'INSTANCE_NOT_FOUND',
  errors: ['UNAUTHORIZED'],
} as const;

const handshakeQuery = z.looseObject({
  'hub.mode': z.string().max(40).optional().meta({ description: 'Always subscribe' }),
  'hub.challenge': z.string().max(400).optional().meta({ description: 'The text to return unchanged' }),
  'hub.verify_token': z
    .string()
    .max(400)
    .optional()
    .meta({ description: 'The verify token that this service generated when it stored the credentials' }),
});

/** Where Meta's Cloud API posts; the subscription is made when an instance connects. */
export const cloud = {
  handshake: route(
    {
      ...fromMeta,
      raw: 'text',
      summary: "Answer Meta's verification of the webhook address",
      description: 'Meta calls this when it creates the subscription.',
    },
    {
      method: 'GET',
      path: WEBHOOK,
      query: handshakeQuery,
      responses: { 200: c.otherResponse({ contentType: 'text/plain', body: z.string() }) },
    },
  ),
  take: route(
    {
      ...fromMeta,
      raw: 'bytes',
      summary: 'Receive webhooks of Meta for an instance',
      description:
        'X-Hub-Signature-256 authenticates the sender; it signs the bytes of the body. The service stores the body, answers, and a worker records the content afterwards. At most 3 MB.',
    },
    {
      method: 'POST',
      path: WEBHOOK,
      body: z.unknown().meta({ id: 'CloudWebhook', description: 'A webhook of the Cloud API' }),
      responses: {
        200: z
          .object({ received: z.literal(true).meta({ description: 'Confirms that the body is stored' }) })
          .meta({ id: 'CloudWebhookReceived' }),
      },
    },
  ),
} satisfies AppRouter;
