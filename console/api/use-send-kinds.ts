import { useQuery } from '@tanstack/react-query';
import { useClient } from './api-context.ts';

/** The part of JSON Schema that the contract uses in the bodies of sends. */
export interface FieldSchema {
  type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  description?: string;
  examples?: readonly unknown[];
  enum?: readonly (string | number)[];
  format?: string;
  pattern?: string;
  default?: unknown;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: FieldSchema;
  properties?: Readonly<Record<string, FieldSchema>>;
  required?: readonly string[];
}

/** One kind of send, as the contract describes its route. */
export interface SendKind {
  /** Its path below `/messages`, e.g. `link-preview` or `status/text`. */
  path: string;
  /** The method of the SDK, e.g. `messages.sendText`. */
  method: string;
  summary: string;
  body: FieldSchema;
  /** Takes a file in place of a named source. */
  takesFile: boolean;
}

interface ApiDocument {
  paths: Readonly<Record<string, { post?: Operation }>>;
  components: { schemas: Readonly<Record<string, FieldSchema>> };
}
interface Operation {
  operationId: string;
  summary: string;
  requestBody?: { content: Readonly<Record<string, { schema: FieldSchema & { $ref?: string } }>> };
}

const SENDS = /^(messages\.(send\w+|forward)|status\.post\w+)$/;
const BELOW = '/v1/instances/{instanceId}/messages/';

/** Every kind of send, from the service's OpenAPI document, which is fetched once. */
export function useSendKinds() {
  const client = useClient();
  return useQuery<readonly SendKind[]>({
    queryKey: ['contract', 'sends'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      kindsOf((await client.openapi.document({}, { signal })) as unknown as ApiDocument),
  });
}

/** Sends that the network has switched off have no body. */
function kindsOf({ paths, components }: ApiDocument): SendKind[] {
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const content = post?.requestBody?.content;
    const schema = content?.['application/json']?.schema;
    if (!post || !content || !schema || !SENDS.test(post.operationId)) return [];
    const { operationId: method, summary } = post;
    const body = components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
    return {
      path: path.replace(BELOW, ''),
      method,
      summary,
      body,
      takesFile: 'multipart/form-data' in content,
    };
  });
}
