type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** Not in all browsers yet, nor in the types. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };

/**
 * JSON with indents, and other texts unchanged. Numbers stay as they were written: read as numbers, those above 2^53
 * would change. A browser that cannot keep them shows the text as it came.
 */
export function laidOut(text: string): string {
  if (!rawJSON) return text;
  const asWritten: Reviver = (_, value, { source }) =>
    typeof value === 'number' ? rawJSON(source ?? '') : value;
  try {
    return JSON.stringify(JSON.parse(text, asWritten as Parameters<typeof JSON.parse>[1]), null, 2);
  } catch {
    return text;
  }
}
