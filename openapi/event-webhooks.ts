import { EVENT_TYPES, eventEnvelope, eventPayloads } from '@posthorn/contract/events.ts';
import { exampleOf } from './example-of.ts';
import type { Json } from './json.ts';
import { jsonSchemaOf } from './json-schema.ts';

/**
 * The deliveries as OpenAPI `webhooks`, and the components of their payloads. One entry per payload, not per
 * event name: ninety names share about twenty payloads.
 */
export function describeDeliveries(): { webhooks: Json; schemas: Json } {
  const webhooks: Json = {};
  const schemas: Json = {};
  for (const [schema, types] of typesByPayload()) {
    const { title, ...json } = jsonSchemaOf(schema, 'output') ?? {};
    if (typeof title !== 'string') throw new Error(`the payload of ${types[0]} has no id`);
    schemas[title] = json;
    webhooks[title] = { post: delivery(title, types, exampleOf({ ...json, title })) };
  }
  return { webhooks, schemas };
}

/** The fields of an event besides its type and data. */
const ENVELOPE = exampleOf(jsonSchemaOf(eventEnvelope, 'output') ?? {}) as Json;

function typesByPayload(): Map<unknown, string[]> {
  const groups = new Map<unknown, string[]>();
  for (const type of EVENT_TYPES) {
    const schema = eventPayloads[type];
    groups.set(schema, [...(groups.get(schema) ?? []), type]);
  }
  return groups;
}

function delivery(title: string, types: string[], data: unknown): Json {
  return {
    operationId: `deliver${title}`,
    summary: types.length === 1 ? (types[0] as string) : title,
    description: `Delivered for ${types.map((type) => `\`${type}\``).join(', ')}.`,
    tags: ['webhooks'],
    security: [],
    parameters: ['WebhookId', 'WebhookTimestamp', 'WebhookSignature'].map((name) => ({
      $ref: `#/components/parameters/${name}`,
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          example: { ...ENVELOPE, type: types[0], data },
          schema: {
            allOf: [
              { $ref: '#/components/schemas/Event' },
              {
                type: 'object',
                properties: {
                  type: { type: 'string', enum: types, description: 'The name of the event' },
                  data: { $ref: `#/components/schemas/${title}` },
                },
              },
            ],
          },
        },
      },
    },
    responses: {
      '2XX': { description: 'Received' },
      '410': { description: 'Gone: the service disables the webhook' },
      default: { description: 'Any other answer is retried, unless its error class is permanent' },
    },
  };
}
