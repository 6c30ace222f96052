/** Longer ones are cut: a name has no room for a letter of its own. */
const MAX_CHARS = 60;

/**
 * A name that a stranger chose, made safe for our mails: one line, no control or invisible characters, nothing that a
 * mail program would turn into a link or an address, and not long. "Log in at https://evil.example/x" becomes "Log in
 * at https evil·example x".
 */
export function mailName(text: string): string {
  const flat = withoutLinks(text);
  const chars = [...flat];
  return chars.length > MAX_CHARS
    ? `${chars
        .slice(0, MAX_CHARS - 1)
        .join('')
        .trim()}…`
    : flat;
}

/** Lines that a stranger wrote, each made as harmless as a name; what is longer than `maxChars` is cut. */
export function mailLines(text: string, maxChars: number): string[] {
  const lines = [...text].slice(0, maxChars).join('').split(/\r?\n/);
  return lines.map(withoutLinks).filter(Boolean);
}

function withoutLinks(text: string): string {
  return (
    text
      // Control, format (zero-width, right-to-left overrides), separators of lines, private use.
      .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
      // Schemes, paths and addresses; and the quotation marks that we put around names.
      .replace(/[:/\\@“”]/g, ' ')
      // "evil.example" is a link by itself; "J. Doe" and "Ltd." are not.
      .replace(/[.。．｡](?=[\p{L}\p{N}-])/gu, '·')
      .replace(/\s+/g, ' ')
      .trim()
  );
}
