import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf, takesBody } from '@posthorn/contract/route-meta.ts';
import { z } from 'zod/v4';
import { argumentOf, type Tool } from './tool.ts';

/** Endpoints that make, change or show credentials or need a login: an agent works with the key that it was given. */
const NOT_FOR_AGENTS =
  /^(auth|oauth|tokens|users|events|health|billing\.(health|simulator|providerWebhook|cards))\.|^instances\.(pairingCode|giveCredentials)$|^webhooks\.(create|rotateSecret)$/;
/** The exceptions, which agents may read. */
const READ_ALL_THE_SAME: ReadonlySet<string> = new Set([
  'users.list',
  'events.list',
  'events.get',
  'billing.cards.list',
]);

/**
 * An agent that reads messages of strangers may be talked into anything. These endpoints send events, mails or network
 * traffic to an address that a message could name, or repeat a delivery to one.
 */
const BY_NAME_ONLY = /^(webhooks|deliveries)\./;
const ADDRESS_FIELDS: readonly string[] = ['url', 'headers', 'proxy', 'email'];

/** Headers of webhooks carry the credentials of their receivers. */
const SECRET_FIELD = /^headers$|secret|password|token$|api_?key/i;

const KEY = {
  type: 'string',
  description:
    'Your name for this send. Use the same one to try again: nothing is sent twice. Generated if missing.',
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
  const bodyFields = Object.keys(body.properties ?? {});
  return [
    {
      name: name.replaceAll('.', '_'),
      endpoint: name,
      description: [meta.summary, meta.description].filter(Boolean).join('. '),
      isReading,
      isDestructive: route.method === 'DELETE' || /suspend|cancel|disconnect|logout|leave/i.test(own),
      isByNameOnly:
        !isReading &&
        (BY_NAME_ONLY.test(name) || (!keyed && bodyFields.some((field) => ADDRESS_FIELDS.includes(field)))),
      masked: [...new Set(fieldNames(successOf(route)))].filter((field) => SECRET_FIELD.test(field)),
      path: params,
      query: Object.keys(query.properties ?? {}),
      body: bodyFields,
      inputSchema: {
        type: 'object',
        properties: {
          ...Object.fromEntries(params.map((param) => [argumentOf(param), paramSchema(param)])),
          ...query.properties,
          ...body.properties,
          ...(keyed ? { idempotency_key: KEY } : {}),
        },
        required: [
          ...new Set([
            ...params.filter((param) => param !== 'instanceId').map(argumentOf),
            ...(query.required ?? []),
            ...(body.required ?? []),
          ]),
        ],
      },
    },
  ];
}

function paramSchema(name: string): object {
  if (name === 'instanceId')
    return { type: 'string', description: 'The instance; may be left out when there is only one' };
  return { type: 'string', description: `${argumentOf(name)} of what is meant` };
}

/** Every field name in a schema of an answer, at any depth. */
function fieldNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null || !('safeParse' in schema)) return [];
  const json = z.toJSONSchema(schema as z.ZodType, { unrepresentable: 'any' });
  const namesIn = (part: unknown): string[] => {
    if (typeof part !== 'object' || part === null) return [];
    const own = 'properties' in part ? Object.keys(part.properties as object) : [];
    return [...own, ...Object.values(part).flatMap(namesIn)];
  };
  return namesIn(json);
}

function successOf(route: NamedRoute['route']): unknown {
  return Object.entries(route.responses).find(([status]) => status.startsWith('2'))?.[1];
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
  const success = successOf(route);
  if (success === undefined) return false;
  // c.noBody() is a symbol: an empty answer counts as readable, too.
  return (
    typeof success === 'symbol' ||
    !(typeof success === 'object' && success !== null && 'contentType' in success)
  );
}
