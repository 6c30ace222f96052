/** A text from the address's query; a number becomes a text, and any other value counts as absent. */
export function textAt(search: Record<string, unknown>, name: string): string | undefined {
  const value = search[name];
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Reads the named texts from the address's query and ignores the rest. */
export function textsOf<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, textAt(search, name)])) as {
      [N in Name]?: string | undefined;
    };
}
