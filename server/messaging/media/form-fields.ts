import { boundOf } from '@posthorn/contract/bounded.ts';
import type { z } from 'zod/v4';

/**
 * Converts the text fields of a form to the values JSON would have, by the types of the body's schema: `ptt`
 * is a boolean, `mentions` a list that may be repeated, CSV or a JSON array. A text that is no value of its
 * type stays text, and the schema refuses it. An empty field counts as not filled in.
 * Lists are built only up to the length at which the schema refuses them: a million commas are one field.
 */
export function bodyOfForm(
  schema: z.ZodType,
  fields: readonly [name: string, value: string][],
): Record<string, unknown> {
  const shape = (schema as { shape?: Record<string, z.ZodType> }).shape ?? {};
  const body: Record<string, unknown> = {};
  for (const [name, values] of Map.groupBy(fields, ([name]) => name)) {
    const field = Object.hasOwn(shape, name) ? shape[name]! : null;
    const given = values.map(([, value]) => value).filter((value) => value !== '');
    if (!field || given.length === 0) continue;
    body[name] = typedValue(valueSchema(field), given);
  }
  return body;
}

function typedValue(schema: z.ZodType, given: readonly string[]): unknown {
  const { type } = schema.def;
  if (type === 'array') return listOf(given, boundOf(schema) ?? 0);
  const text = given.at(-1)!;
  if (type === 'boolean') return BOOLEANS.get(text.trim().toLowerCase()) ?? text;
  if (type === 'number') return Number.isFinite(Number(text)) ? Number(text) : text;
  return text;
}

const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** The items of all fields with one name, up to one more than allowed. */
function listOf(given: readonly string[], max: number): unknown[] {
  const items: unknown[] = [];
  for (const text of given) {
    for (const item of itemsOf(text)) {
      items.push(item);
      if (items.length > max) return items;
    }
  }
  return items;
}

function* itemsOf(text: string): Iterable<unknown> {
  // No longer than any other JSON parsed in one go.
  if (text.trimStart().startsWith('[')) yield* jsonItems(text);
  else yield* commaSeparated(text);
}

function jsonItems(text: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[];
  } catch {
    return [text];
  }
}

function* commaSeparated(text: string): Iterable<string> {
  for (let from = 0; from <= text.length; ) {
    const comma = text.indexOf(',', from);
    const end = comma < 0 ? text.length : comma;
    const item = text.slice(from, end).trim();
    if (item !== '') yield item;
    from = end + 1;
  }
}

/** The schema inside an optional one or one with a default. */
function valueSchema(field: z.ZodType): z.ZodType {
  const { innerType } = field.def as { innerType?: z.ZodType };
  return innerType ? valueSchema(innerType) : field;
}
