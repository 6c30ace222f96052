import { z } from 'zod/v4';
import { describeFields } from './describe-fields.ts';
import type { Json } from './json.ts';

/** Formats whose pattern would only repeat them in a longer form. */
const FORMATS = new Set(['uuid', 'date-time', 'email']);

/**
 * The JSON Schema of one of the contract's schemas; null if the value is not a schema. A schema with an `id`
 * gets it as `title`, which ts-rest turns into a component and a reference. Objects stay open in both
 * directions: requests drop unknown fields, and clients must accept fields added later. `owner` names a
 * schema without an id in the table of field docs; null leaves fields as the schema describes them.
 */
export function jsonSchemaOf(
  schema: unknown,
  io: 'input' | 'output',
  owner: string | null = '',
): Json | null {
  if (!isSchema(schema)) return null;
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    reused: 'inline',
    // An empty registry: with ids in it, zod would create $defs, which OpenAPI tools ignore.
    metadata: z.registry(),
    override: ({ zodSchema, jsonSchema }) => tidy(zodSchema as unknown as z.ZodType, jsonSchema as Json),
  });
  if (owner !== null) describeFields(json, owner);
  return json;
}

function tidy(schema: z.ZodType, json: Json): void {
  // The schema's own method reads the registry of the zod instance that created it, which may not be ours.
  const meta = schema.meta();
  if (meta?.id) json.title = meta.id;
  if (meta?.description) json.description = meta.description;
  if (meta?.examples) json.examples = meta.examples;
  const { catchall } = schema._zod.def as { catchall?: unknown };
  if (json.type === 'object' && json.additionalProperties === false && !catchall)
    delete json.additionalProperties;
  const { maximum } = schema._zod.bag as { maximum?: unknown };
  if (schema._zod.def.type === 'record' && typeof maximum === 'number') json.maxProperties = maximum;
  if (FORMATS.has(String(json.format))) delete json.pattern;
  // The limits of JavaScript's integers carry no information about the field.
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
}

function isSchema(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}
