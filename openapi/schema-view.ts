import type { Json } from './json.ts';

/**
 * The allowed values of a schema, with references, `allOf` and choices resolved as far as a comparison needs.
 */
export interface SchemaView {
  types: ReadonlySet<string>;
  /** Null: any value of its types. */
  values: ReadonlySet<string> | null;
  properties: Readonly<Record<string, Json>>;
  required: ReadonlySet<string>;
  items: Json | null;
  /** The schema of additional fields; null if none is declared. */
  others: Json | null;
  /** Limits, patterns and formats by keyword. */
  limits: Readonly<Record<string, unknown>>;
}

const ALL_TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];
const LIMITS = [
  'format',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'exclusiveMaximum',
  'minItems',
  'minLength',
  'minimum',
  'exclusiveMinimum',
  'pattern',
];

export function resolve(document: Json, part: Json): Json {
  let target = part;
  while (typeof target.$ref === 'string') {
    let found: unknown = document;
    for (const key of target.$ref.slice(2).split('/'))
      found = (found as Json | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')];
    if (found === undefined) throw new Error(`${target.$ref} leads nowhere`);
    target = found as Json;
  }
  return target;
}

export function viewOf(document: Json, schema: Json): SchemaView {
  const own = ownView(resolve(document, schema));
  const parts = ((own.json.allOf ?? []) as Json[]).map((part) => viewOf(document, part));
  const choices = ((own.json.anyOf ?? own.json.oneOf ?? []) as Json[]).map((part) => viewOf(document, part));
  const all = [own.view, ...parts, ...(choices.length > 0 ? [choiceOf(choices)] : [])];
  return all.reduce(bothOf);
}

function ownView(json: Json): { json: Json; view: SchemaView } {
  const values = json.const !== undefined ? [json.const] : (json.enum as unknown[] | undefined);
  const types = json.type === undefined ? typesOf(values) : [json.type].flat().map(String);
  const { additionalProperties: others } = json;
  return {
    json,
    view: {
      types: new Set(types.includes('number') ? [...types, 'integer'] : types),
      values: values ? new Set(values.map((value) => JSON.stringify(value))) : null,
      properties: (json.properties ?? {}) as Record<string, Json>,
      required: new Set((json.required ?? []) as string[]),
      items: (json.items as Json | undefined) ?? null,
      others: typeof others === 'object' ? (others as Json) : null,
      limits: Object.fromEntries(LIMITS.filter((key) => key in json).map((key) => [key, json[key]])),
    },
  };
}

function typesOf(values: readonly unknown[] | undefined): string[] {
  if (!values) return ALL_TYPES;
  return values.map((value) => {
    if (value === null) return 'null';
    return Number.isInteger(value) ? 'integer' : Array.isArray(value) ? 'array' : typeof value;
  });
}

/** A value must fit both. */
function bothOf(a: SchemaView, b: SchemaView): SchemaView {
  return {
    types: new Set([...a.types].filter((type) => b.types.has(type))),
    values:
      a.values && b.values
        ? new Set([...a.values].filter((each) => b.values?.has(each)))
        : (a.values ?? b.values),
    properties: { ...a.properties, ...b.properties },
    required: new Set([...a.required, ...b.required]),
    items: a.items ?? b.items,
    others: a.others ?? b.others,
    limits: { ...a.limits, ...b.limits },
  };
}

/** A value must fit one of them; readers cannot rely on fields that only some of them require. */
function choiceOf(choices: readonly SchemaView[]): SchemaView {
  const objects = choices.filter(({ types }) => types.has('object'));
  const everyValue = choices.every(({ values }) => values !== null);
  return {
    types: new Set(choices.flatMap(({ types }) => [...types])),
    values: everyValue ? new Set(choices.flatMap(({ values }) => [...(values ?? [])])) : null,
    properties: Object.assign({}, ...objects.map(({ properties }) => properties)) as Record<string, Json>,
    required: new Set(
      [...(objects[0]?.required ?? [])].filter((name) => objects.every(({ required }) => required.has(name))),
    ),
    items: choices.find(({ items }) => items !== null)?.items ?? null,
    others: choices.find(({ others }) => others !== null)?.others ?? null,
    limits:
      choices.filter(({ types }) => !(types.size === 1 && types.has('null'))).length === 1
        ? Object.assign({}, ...choices.map(({ limits }) => limits))
        : {},
  };
}
