import { UsageError } from './fault.ts';

/**
 * `name=Ana online=false times=3 ids:='["a"]'` as an object. The value after `=` is text, except true, false, null and
 * short numbers; longer numbers are phone numbers and stay text. The value after `:=` is JSON.
 */
export function parseAssignments(items: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(items.map(parseAssignment));
}

/** The sentence about assignments in help texts. */
export const ASSIGNMENTS_HELP = 'Write fields as name=value, or as name:=JSON for lists and objects.';

function parseAssignment(item: string): [string, unknown] {
  const parts = /^([A-Za-z_][\w-]*)(:?=)(.*)$/s.exec(item);
  if (!parts) throw new UsageError(`${item}: write it as name=value`);
  const [, name, operator, value] = parts as unknown as [string, string, string, string];
  if (operator === '=') return [name, plain(value)];
  try {
    return [name, JSON.parse(value)];
  } catch {
    throw new UsageError(`${name}: the value after := must be JSON`);
  }
}

function plain(value: string): unknown {
  if (value === 'true') return true;
  if (value === 'false') return false;
  if (value === 'null') return null;
  return /^-?\d{1,6}(\.\d+)?$/.test(value) ? Number(value) : value;
}
