import { docOfField } from '@posthorn/contract/field-docs/index.ts';
import type { Json } from './json.ts';

/** Adds the descriptions of the contract's table to the fields whose schema has none, in place. */
export function describeFields(schema: Json, owner = ''): void {
  const here = (schema.title as string | undefined) ?? owner;
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
    const doc = docOfField(here, name);
    // A schema with a title becomes a component shared with other fields.
    if (doc && field.description === undefined && field.title === undefined) field.description = doc[0];
    describeFields(field, `${here}.${name}`);
  }
  for (const key of ['items', 'additionalProperties'] as const) {
    const inner = schema[key];
    if (typeof inner === 'object' && inner !== null) describeFields(inner as Json, here);
  }
  for (const key of ['anyOf', 'oneOf', 'allOf'] as const)
    for (const inner of (schema[key] ?? []) as Json[]) describeFields(inner, here);
}
