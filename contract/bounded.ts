import { z } from 'zod/v4';

/**
 * Lists and records that are counted before anything in them is judged. Zod's own `.max()` speaks only after every
 * item has been judged and every fault written down: a megabyte of wrong items then blocks a process for seconds.
 *
 * Every list and record of a request is made by these two, and a test over both contracts holds that.
 */
export interface Bounds {
  max: number;
  /** The fault in place of the usual one: a text, or with `failsWith` and `saysExactly` a code as well. */
  tooMany?: string | { message?: string; params: Record<string, unknown> };
}

interface BoundedDef extends Bounds {
  origin: 'array' | 'record';
}

const TRAIT = 'PosthornBounded';

/** Subclasses, as zod means them to be made: `.optional()`, `.meta()` and the like make copies that keep the bound. */
const BoundedArray = boundedClass(z.ZodArray, (value) => (Array.isArray(value) ? value.length : 0));
const BoundedRecord = boundedClass(z.ZodRecord, (value) =>
  typeof value === 'object' && value !== null ? Object.keys(value).length : 0,
);

/** A list of `max` items at most, counted before they are judged. */
export function boundedArray<T extends z.ZodType>(
  element: T,
  bounds: Bounds & { min?: number; tooFew?: string },
): z.ZodArray<T> {
  const { min, tooFew, ...more } = bounds;
  const list = new BoundedArray({ type: 'array', element, origin: 'array', ...more }) as z.ZodArray<T>;
  return min === undefined ? list : list.min(min, tooFew);
}

/** A record of `max` keys at most, counted before keys and values are judged. */
export function boundedRecord<K extends z.core.$ZodRecordKey, V extends z.ZodType>(
  keyType: K,
  valueType: V,
  bounds: Bounds,
): z.ZodRecord<K, V> {
  return new BoundedRecord({
    type: 'record',
    keyType,
    valueType,
    origin: 'record',
    ...bounds,
  }) as z.ZodRecord<K, V>;
}

/** The most items or keys that a schema takes; null when it is not one of these. */
export function boundOf(schema: z.ZodType): number | null {
  return schema._zod.traits.has(TRAIT) ? (schema.def as unknown as BoundedDef).max : null;
}

type Init = { init(inst: z.ZodType, def: unknown): void };
type BoundedClass = new (def: object) => z.ZodType;

function boundedClass(parent: unknown, countOf: (value: unknown) => number): BoundedClass {
  const make = z.core.$constructor as unknown as (
    name: string,
    init: (inst: z.ZodType, def: BoundedDef) => void,
  ) => BoundedClass;
  return make(TRAIT, (inst, def) => {
    (parent as Init).init(inst, def);
    const { max, origin } = def;
    // Where the JSON schema of a list looks for its length.
    Object.assign(inst._zod.bag, { maximum: max });
    const judgeItems = inst._zod.parse;
    inst._zod.parse = (payload, context) => {
      if (countOf(payload.value) <= max) return judgeItems(payload, context);
      payload.issues.push({ ...faultOf(def), origin, input: payload.value, inst } as never);
      return payload;
    };
  });
}

function faultOf({ max, tooMany }: BoundedDef): object {
  if (typeof tooMany === 'object') return { code: 'custom', ...tooMany };
  return {
    code: 'too_big',
    maximum: max,
    inclusive: true,
    ...(tooMany === undefined ? {} : { message: tooMany }),
  };
}
