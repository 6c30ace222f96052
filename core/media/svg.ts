/**
 * Whether a text is the beginning of an SVG document: white space, the XML declaration and other instructions,
 * comments and a document type, in any order, and then the element `svg`.
 *
 * A scan without backtracking, since the text is untrusted: a regular expression for the same took exponential time
 * on 281 bytes of comments.
 */
export function isSvgText(text: string): boolean {
  let at = 0;
  for (;;) {
    while (at < text.length && text[at]!.trim() === '') at += 1;
    if (isElement(text, at)) return true;
    const end = endOfMisc(text, at);
    if (end === null) return false;
    at = end;
  }
}

function isElement(text: string, at: number): boolean {
  const tag = text.slice(at, at + 5).toLowerCase();
  if (tag.length < 5 || !tag.startsWith('<svg')) return false;
  return tag[4] === '>' || tag[4] === '/' || tag[4]!.trim() === '';
}

/**
 * The position after the comment, instruction or document type that begins here; null when none does, or its end is
 * missing.
 */
function endOfMisc(text: string, at: number): number | null {
  if (text.startsWith('<!--', at)) return behind(text, '-->', at + 4);
  if (text.startsWith('<?', at)) return behind(text, '?>', at + 2);
  const doctype = /^<!doctype\s{1,100}svg(?=[\s>[])/i.exec(text.slice(at, at + 200));
  return doctype ? endOfDoctype(text, at + doctype[0].length) : null;
}

/** A document type may hold declarations of its own between brackets, as Illustrator writes them. */
function endOfDoctype(text: string, from: number): number | null {
  const end = behind(text, '>', from);
  if (end === null) return null;
  const bracket = text.slice(from, end).indexOf('[');
  if (bracket < 0) return end;
  const closing = behind(text, ']', from + bracket);
  return closing === null ? null : behind(text, '>', closing);
}

function behind(text: string, mark: string, from: number): number | null {
  const at = text.indexOf(mark, from);
  return at < 0 ? null : at + mark.length;
}
