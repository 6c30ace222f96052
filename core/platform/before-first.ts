/** The part of a text before the first `mark`; all of it where there is none. */
export function beforeFirst(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? text : text.slice(0, at);
}
