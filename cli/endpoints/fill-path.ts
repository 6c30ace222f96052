import { UsageError } from '../fault.ts';

/**
 * The path with its parameters filled in. Throws UsageError for a parameter that is missing, or that would lead to
 * another path.
 */
export function fillPath(path: string, values: Readonly<Record<string, unknown>>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = String(values[name] ?? '');
    if (['', '.', '..'].includes(value)) throw new UsageError(`${name} is not valid`);
    return encodeURIComponent(value);
  });
}
