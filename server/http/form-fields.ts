import type { z } from 'zod/v4';

/**
 * The text fields of a form as the values that JSON would have, by the types of the body's schema: `ptt` a
 * boolean, `mentions` a list that may repeat, be CSV or a JSON array (spec 4.2, media source 4). What is no
 * value of its type stays text, for the schema to refuse. An empty field is one that was not filled in.
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
    body[name] = typedValue(typeOf(field), given);
  }
  return body;
}

function typedValue(type: string, given: readonly string[]): unknown {
  if (type === 'array') return given.flatMap(listOf);
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

function listOf(text: string): unknown[] {
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text) as unknown[];
    } catch {
      return [text];
    }
  }
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}

/** Beneath what may be absent or has a default. */
function typeOf(field: z.ZodType): string {
  const { type, innerType } = field.def as { type: string; innerType?: z.ZodType };
  return innerType ? typeOf(innerType) : type;
}
