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
  'hub.mode': z.string().max(40).optional().meta({ description: 'subscribe' }),
  'hub.challenge': z.string().max(400).optional().meta({ description: 'Answered as it is' }),
  'hub.verify_token': z
    .string()
    .max(400)
    .optional()
    .meta({ description: 'Drawn when the credentials were given' }),
});

/** Where Meta's Cloud API posts; the subscription is made when an instance connects. */
export const cloud = {
  handshake: route(
    {
      ...fromMeta,
      raw: 'text',
      summary: 'Prove to Meta that the address is ours',
      description: 'Asked by Meta when the subscription is made.',
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
      summary: 'Take in what Meta posts for an instance',
      description:
        'X-Hub-Signature-256 proves the sender, over the bytes as they come. They are stored, answered, and recorded by the owner of the instance. At most 3 MB.',
    },
    {
      method: 'POST',
      path: WEBHOOK,
      body: z.unknown().meta({ id: 'CloudWebhook', description: 'A webhook of the Cloud API' }),
      responses: {
        200: z
          .object({ received: z.literal(true).meta({ description: 'It is stored' }) })
          .meta({ id: 'CloudWebhookReceived' }),
      },
    },
  ),
} satisfies AppRouter;
