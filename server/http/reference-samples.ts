import { AHEAD } from '@posthorn/contract/field-docs/sample-values.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';

/** A document as text, with a time a week ahead wherever its examples need one to come. */
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
 * Marks the optional parameters so that Scalar leaves them out of its samples: it would else set them to the first of
 * their values, and so pass the guard or list the instances in one state. Other readers of a document take an example
 * for what is usually sent, so the published one has no such mark.
 *
 * It runs in the page, which gets its source: it can't use anything outside itself.
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
