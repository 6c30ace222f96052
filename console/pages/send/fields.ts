import type { FieldSchema, SendKind } from '../../api/use-send-kinds.ts';

export type Values = Readonly<Record<string, unknown>>;

/** The sources of media; a form names one of them, or has a file. */
export const SOURCES = ['media_url', 'media_id'] as const;
/** Left out, because choosing a file does the same. */
const LEFT_OUT: readonly string[] = ['media_base64'];

/** The fields of a send in the order of the contract, required ones first. */
export function fieldsOf({ body }: SendKind): (readonly [name: string, schema: FieldSchema])[] {
  const fields = Object.entries(body.properties ?? {}).filter(
    ([name]) => !LEFT_OUT.includes(name) && !(SOURCES as readonly string[]).includes(name),
  );
  const isNeeded = (name: string) => Number(!body.required?.includes(name));
  return fields.sort(([a], [b]) => isNeeded(a) - isNeeded(b));
}

/** The body to send, without empty fields, and without the empty lines of lists. */
export function bodyOf({ body }: SendKind, values: Values): Record<string, unknown> {
  const known = Object.keys(body.properties ?? {});
  return Object.fromEntries(
    Object.entries(values)
      .map(([name, value]) => [name, Array.isArray(value) ? value.filter(isNoEmptyLine) : value] as const)
      .filter(
        ([name, value]) => known.includes(name) && (!isEmpty(value) || isEmptyAllowed(body, name, value)),
      ),
  );
}

function isNoEmptyLine(item: unknown): boolean {
  return typeof item !== 'string' || item.trim() !== '';
}

function isEmpty(value: unknown): boolean {
  return (
    value === '' || value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  );
}

/** True for a required text that may be empty, such as the emoji that removes a reaction. */
function isEmptyAllowed({ required, properties }: FieldSchema, name: string, value: unknown): boolean {
  return value === '' && required?.includes(name) === true && properties?.[name]?.minLength === undefined;
}
