/** A media type as its header writes it, taken apart; in lower case. */
export interface MimeType {
  type: string;
  subtype: string;
  /** `type/subtype`, without parameters. */
  bare: string;
}

const MAX_CHARS = 255;
const NAME = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const PARAMETER = /^[a-z0-9!#$%&'*+.^_`|~-]{1,127}=(?:[a-z0-9!#$%&'*+.^_`|~-]{1,255}|"[^"\\]{0,255}")$/;

/**
 * Null for a text that is not one media type (RFC 9110 8.3.1), such as a list of several: a check of one part of a text must
 * not pass another part that somebody downstream believes.
 */
export function parseMimeType(text: string): MimeType | null {
  if (text.length > MAX_CHARS) return null;
  const [bare = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const [type = '', subtype = '', ...more] = bare.split('/');
  if (more.length > 0 || !NAME.test(type) || !NAME.test(subtype)) return null;
  // An empty one, as a semicolon at the end makes it, says nothing.
  if (!parameters.every((parameter) => parameter === '' || PARAMETER.test(parameter))) return null;
  return { type, subtype, bare };
}
