import { docOfField } from '@posthorn/contract/field-docs/index.ts';
import type { Json } from './json.ts';

/**
 * A value that fits a schema, built from the contract's examples: the field's own in the table of field docs,
 * then those of its schema (`.meta({ examples })`), then the one for its name. Throws for a field without
 * any, unless its schema implies a value.
 */
export function exampleOf(schema: Json, owner = ''): unknown {
  const here = (schema.title as string | undefined) ?? owner;
  if (schema.const !== undefined) return schema.const;
  const choices = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  if (choices) return exampleOf(choices.find(({ type }) => type !== 'null') ?? choices[0]!, here);
  if (schema.type === 'array') return schema.items ? [exampleOf(schema.items as Json, here)] : [];
  if (schema.type !== 'object') return exampleOfValue(schema, here);
  const required = new Set((schema.required ?? []) as string[]);
  return Object.fromEntries(
    Object.entries((schema.properties ?? {}) as Record<string, Json>).flatMap(([name, field]) => {
      const given = givenExample(here, name, field);
      if (given !== undefined) return [[name, given]];
      // An optional field without its own example is one that typical answers do not have.
      return required.has(name) ? [[name, exampleOf(field, `${here}.${name}`)]] : [];
    }),
  );
}

function givenExample(owner: string, name: string, field: Json): unknown {
  const doc = docOfField(owner, name);
  if (doc?.[1] !== undefined && suits(doc[1], field)) return doc[1];
  return (field.examples as unknown[] | undefined)?.[0];
}

/**
 * Whether an example given for a name fits this field: `status` is usually a string, but with different
 * values in each place.
 */
function suits(value: unknown, field: Json): boolean {
  if (Array.isArray(field.enum)) return field.enum.includes(value);
  if (field.const !== undefined) return field.const === value;
  const types = ((field.anyOf as Json[] | undefined) ?? [field]).map(({ type }) => type);
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  return (
    types.includes(type === 'number' && Number.isInteger(value) ? 'integer' : type) || types.includes(type)
  );
}

const BY_FORMAT: Readonly<Record<string, unknown>> = {
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  uuid: '0198c0de-0000-7000-8000-000000000001',
  email: 'olga@acme.example',
  uri: 'https://example.com',
};

function exampleOfValue(schema: Json, owner: string): unknown {
  const [given] = (schema.examples ?? schema.enum ?? []) as unknown[];
  if (given !== undefined) return given;
  if (schema.default !== undefined) return schema.default;
  const format = BY_FORMAT[String(schema.format)];
  if (format !== undefined) return format;
  if (schema.type === 'integer' || schema.type === 'number') return Number(schema.minimum ?? 1);
  if (schema.type === 'boolean') return false;
  throw new Error(`${owner} has no example: add one to contract/field-docs/ or to its schema`);
}
