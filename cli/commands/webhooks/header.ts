import { UsageError } from '../../fault.ts';

/** `Name: value` lines as an object; undefined when there are none. */
export function parseHeaders(lines: readonly string[]): Record<string, string> | undefined {
  if (lines.length === 0) return undefined;
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new UsageError(`${line}: write a header as "Name: value"`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
