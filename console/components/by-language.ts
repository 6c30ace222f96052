/**
 * Creates a format once for each language: creating one takes longer than drawing a row, and there are hundreds of
 * rows. A format depends only on the language, so all components may share it.
 */
export function byLanguage<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map<string, T>();
  return (language) => {
    const known = made.get(language) ?? make(language);
    made.set(language, known);
    return known;
  };
}
