/**
 * Makes a format once for each language: making one takes longer than a row of a list, and there are hundreds of rows.
 * It depends on nothing else, so that all may share it.
 */
export function byLanguage<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map<string, T>();
  return (language) => {
    const known = made.get(language) ?? make(language);
    made.set(language, known);
    return known;
  };
}
