import type { Json } from './json.ts';
import { type SchemaView, viewOf } from './schema-view.ts';

/**
 * `in`: callers write the value, and values valid yesterday must be valid today. `out`: the service writes
 * it, and fields that readers rely on must stay. Readers must accept new fields and new enum values.
 */
export type Direction = 'in' | 'out';

export interface Sides {
  /** The whole documents, to resolve references. */
  published: Json;
  present: Json;
  direction: Direction;
  /** Pairs already being compared: schemas may refer to themselves. */
  seen: Set<string>;
}

/** The breaking changes between two schemas, as sentences that begin with `where`. */
export function compareSchemas(sides: Sides, where: string, before: Json, after: Json): string[] {
  const pair = `${sides.direction} ${JSON.stringify(before)} ${JSON.stringify(after)}`;
  if (sides.seen.has(pair)) return [];
  sides.seen.add(pair);
  const old = viewOf(sides.published, before);
  const now = viewOf(sides.present, after);
  const inner = (name: string, a: Json | undefined | null, b: Json | undefined | null) =>
    a && b ? compareSchemas(sides, `${where}${name}`, a, b) : [];
  return [
    ...(sides.direction === 'in' ? narrowed(where, old, now) : widened(where, old, now)),
    ...Object.keys(old.properties).flatMap((name) =>
      inner(`.${name}`, old.properties[name], now.properties[name]),
    ),
    ...inner('[]', old.items, now.items),
    ...inner('.*', old.others, now.others),
  ];
}

function narrowed(where: string, old: SchemaView, now: SchemaView): string[] {
  const types = [...old.types].filter((type) => !now.types.has(type));
  const words =
    now.values && (old.values ? [...old.values].filter((value) => !now.values?.has(value)) : ['any other']);
  return [
    ...types.map((type) => `${where} no longer takes ${type}`),
    ...(words ?? []).map((value) => `${where} no longer takes ${value}`),
    ...[...now.required]
      .filter((name) => !old.required.has(name))
      .map((name) => `${where}.${name} became required`),
    ...Object.keys(old.properties)
      .filter((name) => !(name in now.properties))
      .map((name) => `${where}.${name} is no longer taken`),
    ...Object.keys(now.limits)
      .filter((key) => isTighter(key, old.limits[key], now.limits[key]))
      .map((key) => `${where} has a tighter ${key}: ${now.limits[key]}`),
  ];
}

function widened(where: string, old: SchemaView, now: SchemaView): string[] {
  return [
    ...[...now.types].filter((type) => !old.types.has(type)).map((type) => `${where} may be ${type} now`),
    ...Object.keys(old.properties)
      .filter((name) => !(name in now.properties))
      .map((name) => `${where}.${name} was removed`),
    ...[...old.required]
      .filter((name) => name in now.properties && !now.required.has(name))
      .map((name) => `${where}.${name} may be absent now`),
    ...(old.limits.format !== undefined && old.limits.format !== now.limits.format
      ? [`${where} is no longer a ${old.limits.format}`]
      : []),
  ];
}

function isTighter(key: string, before: unknown, after: unknown): boolean {
  if (before === undefined || typeof before !== 'number' || typeof after !== 'number')
    return before !== after;
  return key.toLowerCase().includes('max') ? after < before : after > before;
}
