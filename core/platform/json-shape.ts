const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * Checks the shape of a JSON text before parsing, by its brackets and colons outside of strings; null when there is no
 * fault. Three million brackets cost a second to parse.
 */
export function shapeFault(
  text: string,
  { depthMax, fieldsMax }: { depthMax: number; fieldsMax: number },
): string | null {
  // Nearly every body returns here, without a look at each character.
  if (text.length <= fieldsMax && !hasMore(text, '{', '[', depthMax)) return null;
  let depth = 0;
  let fields = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) fields += 1;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > depthMax) return 'the body is nested too deep';
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return fields > fieldsMax ? 'the body has too many fields' : null;
}

function hasMore(text: string, one: string, other: string, max: number): boolean {
  let left = max;
  for (const char of [one, other])
    for (let at = text.indexOf(char); at >= 0; at = text.indexOf(char, at + 1)) {
      left -= 1;
      if (left < 0) return true;
    }
  return false;
}

/** The index of the closing quote of the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
