/** A text of the address; numbers were one, and anything else counts as absent. */
export function textAt(search: Record<string, unknown>, name: string): string | undefined {
  const value = search[name];
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Reads texts of the address by their names; what else stands there is left out. */
export function textsOf<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, textAt(search, name)])) as {
      [N in Name]?: string | undefined;
    };
}
