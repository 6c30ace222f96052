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
  'date-time': new Date(Date.now() + 86_400_000).toISOString(),
};

/**
 * Fields that are optional by their schema, although one of them is required: one media source, and the content of a
 * text or a card.
 */
const MEDIA_SOURCES = ['media_id', 'media_url'];
const WANTED = ['text', 'contact_name', 'contact_phone'];
const BY_NAME: Record<string, unknown> = {
  media_id: BY_FORMAT.uuid,
  media_url: BY_FORMAT.uri,
  url: BY_FORMAT.uri,
  contact_phone: '+5511999990000',
  // Contains the url, as a link preview's text must.
  text: `see ${BY_FORMAT.uri}`,
  // The body of a scheduled send.
  body: { to: '+5511999990000', text: 'later' },
};

/** The smallest body that the schema of a route accepts: its required fields. */
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
        namesOf(schema).map((name) => [name, BY_NAME[name] ?? sample(schema.properties?.[name] ?? {}, defs)]),
      );
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, (_, at) => {
        const item = sample(schema.items ?? {}, defs);
        return typeof item === 'string' ? `${item}${at || ''}` : item;
      });
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

function namesOf(schema: Schema): string[] {
  const there = Object.keys(schema.properties ?? {});
  const source = MEDIA_SOURCES.find((name) => there.includes(name));
  const more = [...WANTED.filter((name) => there.includes(name)), ...(source ? [source] : [])];
  return [...new Set([...(schema.required ?? []), ...more])];
}
