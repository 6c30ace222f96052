import type { AppRoute } from '@ts-rest/core';
import { z } from 'zod/v4';

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  default?: unknown;
  format?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  minItems?: number;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
}

const BY_FORMAT: Record<string, string> = {
  email: 'somebody@example.test',
  uuid: '01890000-0000-7000-8000-000000000000',
  uri: 'https://example.test/',
  'date-time': '2100-01-01T00:00:00.000Z',
};

/** A body of a route that its schema takes: the required fields with the plainest values. */
export function sampleBody(route: AppRoute): unknown {
  const body = 'body' in route ? route.body : undefined;
  if (typeof body !== 'object' || body === null || !('safeParse' in body)) return undefined;
  const schema = z.toJSONSchema(body as z.ZodType, { io: 'input', unrepresentable: 'any' }) as Schema;
  return sample(schema, schema.$defs ?? {});
}

function sample(schema: Schema, defs: Record<string, Schema>): unknown {
  if (schema.$ref) return sample(defs[schema.$ref.replace('#/$defs/', '')] ?? {}, defs);
  if (schema.const !== undefined) return schema.const;
  if (schema.examples?.length) return schema.examples[0];
  if (schema.enum?.length) return schema.enum[0];
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice) return sample(choice[0]!, defs);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => sample(part, defs)));
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sample(schema.properties?.[name] ?? {}, defs)]),
      );
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}, defs));
    case 'integer':
    case 'number':
      return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return BY_FORMAT[schema.format ?? ''] ?? 'x'.repeat(Math.max(schema.minLength ?? 1, 8));
  }
}
