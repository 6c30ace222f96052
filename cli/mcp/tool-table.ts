import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import { z } from 'zod/v4';
import type { Tool } from './tool.ts';

/** What makes, changes or shows credentials, or takes a login: an agent has the key that it was given. */
const NOT_FOR_AGENTS =
  /^(auth|oauth|tokens|users|events|health|billing\.(health|simulator|providerWebhook|cards))\.|^instances\.pairingCode$|^webhooks\.(create|rotateSecret)$/;
/** Of those, what may be read. */
const READ_ALL_THE_SAME: ReadonlySet<string> = new Set([
  'users.list',
  'events.list',
  'events.get',
  'billing.cards.list',
]);

const KEY = {
  type: 'string',
  description:
    'Your name for this send. Repeat it to try again: nothing is sent twice. Made up when left out.',
};

/** Every endpoint that is a tool. The build writes the finished table in place of this module. */
export const TOOLS: readonly Tool[] = [
  ...listRoutes(messagingContract).flatMap((route) => toolOf('', route)),
  ...listRoutes(billingContract).flatMap((route) => toolOf('billing.', route)),
];

interface ObjectSchema {
  properties?: Record<string, object>;
  required?: string[];
}

function toolOf(prefix: string, { name: own, route }: NamedRoute): Tool[] {
  const name = prefix + own;
  const meta = metaOf(route);
  const isReading = route.method === 'GET';
  if (NOT_FOR_AGENTS.test(name) && !READ_ALL_THE_SAME.has(name)) return [];
  if (meta.auth !== 'any' || (meta.raw !== undefined && meta.raw !== 'multipart') || !answersJson(route))
    return [];
  const params = [...route.path.matchAll(/:(\w+)/g)].map(([, param]) => String(param));
  const query = 'query' in route ? objectOf(route.query) : {};
  const body = takesBody(route) && 'body' in route ? objectOf(route.body) : {};
  const keyed = meta.operation !== undefined;
  return [
    {
      name: name.replaceAll('.', '_'),
      endpoint: name,
      description: [meta.summary, meta.description].filter(Boolean).join('. '),
      isReading,
      isDestructive: route.method === 'DELETE' || /suspend|cancel|disconnect|logout|leave/i.test(own),
      path: params,
      query: Object.keys(query.properties ?? {}),
      body: Object.keys(body.properties ?? {}),
      inputSchema: {
        type: 'object',
        properties: {
          ...Object.fromEntries(params.map((param) => [param, paramSchema(param)])),
          ...query.properties,
          ...body.properties,
          ...(keyed ? { idempotency_key: KEY } : {}),
        },
        required: [
          ...params.filter((param) => param !== 'instanceId'),
          ...(query.required ?? []),
          ...(body.required ?? []),
        ],
      },
    },
  ];
}

function paramSchema(name: string): object {
  if (name === 'instanceId')
    return { type: 'string', description: 'The instance; may be left out when there is only one' };
  return { type: 'string', description: `${name} of what is meant` };
}

function objectOf(schema: unknown): ObjectSchema {
  return z.toJSONSchema(schema as z.ZodType, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { description, examples } = (zodSchema as unknown as z.ZodType).meta() ?? {};
      if (description) jsonSchema.description = description;
      if (examples) jsonSchema.examples = examples as unknown[];
      delete jsonSchema.id;
    },
    metadata: z.registry(),
  }) as ObjectSchema;
}

function answersJson(route: NamedRoute['route']): boolean {
  const success = Object.entries(route.responses).find(([status]) => status.startsWith('2'))?.[1];
  if (success === undefined) return false;
  // c.noBody() is a symbol: there is nothing to read, and that is an answer too.
  return (
    typeof success === 'symbol' ||
    !(typeof success === 'object' && success !== null && 'contentType' in success)
  );
}
