import { AHEAD } from '@posthorn/contract/field-docs/sample-values.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';

/** Replaces the document's placeholder for a future time by a time a week ahead. */
export function withTimesAhead(text: string, day: number): string {
  return text.replaceAll(AHEAD, new Date((day + 7) * DAY_MS).toISOString());
}

interface Parameter {
  in?: string;
  required?: boolean;
  examples?: object;
}
interface ReferenceDocument {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
  components: { parameters?: Record<string, Parameter> };
}

/**
 * Marks the optional parameters so that Scalar leaves them out of its samples: otherwise it would set them to
 * their first value, and so bypass the guard or list only instances in one state. Other readers take an
 * example as the usual value, so the published document has no such mark.
 * The page runs the source of this function, so it can't use anything outside itself.
 */
export function leaveOptionalOut<D>(document: D): D {
  const { paths, components } = document as unknown as ReferenceDocument;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const parameters = operations.flatMap((operation) => operation.parameters ?? []);
  for (const parameter of [...parameters, ...Object.values(components.parameters ?? {})])
    if (parameter.in !== undefined && !parameter.required)
      parameter.examples = { none: { summary: 'left out', 'x-disabled': true } };
  return document;
}
