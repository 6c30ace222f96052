import type { FieldSchema, SendKind } from '../../api/use-send-kinds.ts';

export type Values = Readonly<Record<string, unknown>>;

/** Where media comes from; a form names one of them, or has a file. */
export const SOURCES = ['media_url', 'media_id'] as const;
/** A file does the same without filling the form. */
const LEFT_OUT: readonly string[] = ['media_base64'];

/** The fields of a send in the order of the contract, those first that it demands. */
export function fieldsOf({ body }: SendKind): (readonly [name: string, schema: FieldSchema])[] {
  const fields = Object.entries(body.properties ?? {}).filter(
    ([name]) => !LEFT_OUT.includes(name) && !(SOURCES as readonly string[]).includes(name),
  );
  const isNeeded = (name: string) => Number(!body.required?.includes(name));
  return fields.sort(([a], [b]) => isNeeded(a) - isNeeded(b));
}

/** The body as it is sent: without what was left empty. */
export function bodyOf({ body }: SendKind, values: Values): Record<string, unknown> {
  const known = Object.keys(body.properties ?? {});
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => known.includes(name) && (!isEmpty(value) || isEmptyAllowed(body, name, value)),
    ),
  );
}

function isEmpty(value: unknown): boolean {
  return (
    value === '' || value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  );
}

/** An empty text where one is demanded and may be empty: an emoji that takes a reaction back. */
function isEmptyAllowed({ required, properties }: FieldSchema, name: string, value: unknown): boolean {
  return value === '' && required?.includes(name) === true && properties?.[name]?.minLength === undefined;
}

/** `quoted_id` as people read it. */
export function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words[0]?.toUpperCase() + words.slice(1);
}

/** The service's complaint about one field: its message begins with the field's path. */
export function errorOfField(error: unknown, name: string): string | null {
  const message = error instanceof Error ? error.message : '';
  return new RegExp(`^${name}\\b[^:]*: `).test(message) ? message.slice(message.indexOf(': ') + 2) : null;
}
