/**
 * The pieces of a regular expression, as far as attacks need them: the repeating parts, the text before each, and texts
 * that match each part. It need not be exact: an attack that matches nothing only costs a millisecond.
 */
export type Node =
  | { kind: 'sequence'; items: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; of: Node; min: number; max: number }
  /** A character, escape or class. */
  | { kind: 'atom'; texts: string[] };

const CANDIDATES = [
  'a',
  '0',
  'Z',
  ' ',
  '-',
  '.',
  '\n',
  '_',
  '"',
  '\\',
  '<',
  '>',
  ':',
  ';',
  '/',
  '=',
  ',',
  '%',
  '\t',
];
for (let code = 0; code < 256; code += 1) CANDIDATES.push(String.fromCharCode(code));
CANDIDATES.push('\u0301', '\ufffd', '\u{1f600}');

/** One text for each kind of character, so that two overlapping classes share a text. */
const TEXTS_OF_AN_ATOM = 4;

export function parsePattern(source: string, flags: string): Node {
  let at = 0;

  function choice(): Node {
    const options = [sequence()];
    while (source[at] === '|') {
      at += 1;
      options.push(sequence());
    }
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  function sequence(): Node {
    const items: Node[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') items.push(repeated(term()));
    return { kind: 'sequence', items };
  }

  function repeated(of: Node): Node {
    const rest = source.slice(at);
    const braces = /^\{(\d+)(,?)(\d*)\}/.exec(rest);
    const bounds: Record<string, [number, number]> = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] };
    const simple = bounds[rest[0] ?? ''];
    if (!braces && !simple) return of;
    at += braces ? braces[0].length : 1;
    if (source[at] === '?') at += 1;
    const [min, max] = simple ?? [
      Number(braces![1]),
      braces![2] === '' ? Number(braces![1]) : braces![3] === '' ? Infinity : Number(braces![3]),
    ];
    return { kind: 'repeat', of, min, max };
  }

  function term(): Node {
    if (source[at] === '(') {
      at += 1;
      const opening = /^\?(?::|<?[=!]|<\w+>)/.exec(source.slice(at))?.[0] ?? '';
      at += opening.length;
      const inner = choice();
      at += 1;
      return inner;
    }
    const from = at;
    if (source[at] === '[') at = endOfClass(at);
    else if (source[at] === '\\') at += escapeLength(source.slice(at));
    else at += source.codePointAt(at)! > 0xffff ? 2 : 1;
    return { kind: 'atom', texts: textsOf(source.slice(from, at), flags) };
  }

  function endOfClass(from: number): number {
    let to = from + 1;
    while (source[to] !== ']') to += source[to] === '\\' ? 2 : 1;
    return to + 1;
  }

  return choice();
}

function escapeLength(text: string): number {
  return (
    /^\\(?:u\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[pPk][{<][^}>]*[}>]|c[a-z]|\d+|.)/is.exec(text)?.[0].length ??
    1
  );
}

/** Matching characters; none for an atom of no width, such as `^` and `\b`. */
function textsOf(atom: string, flags: string): string[] {
  let fits: RegExp;
  try {
    fits = new RegExp(`^(?:${atom})$`, flags.replace(/[gymd]/g, ''));
  } catch {
    return [];
  }
  if (fits.test('')) return [];
  return [...new Set(CANDIDATES.filter((char) => fits.test(char)))].slice(0, TEXTS_OF_AN_ATOM);
}

/** Texts that match a node: the first with every optional part, the last without. */
export function textsFor(node: Node): string[] {
  if (node.kind === 'atom') return node.texts.length > 0 ? node.texts : [''];
  if (node.kind === 'choice') return unique(node.options.flatMap((option) => textsFor(option).slice(0, 3)));
  if (node.kind === 'repeat') {
    const times = Math.max(1, Math.min(node.min, 64));
    const texts = textsFor(node.of).map((text) => text.repeat(times));
    return unique(node.min === 0 ? [...texts, ''] : texts);
  }
  const parts = node.items.map(textsFor);
  const most = Math.max(1, ...parts.map((texts) => texts.length));
  return unique(
    Array.from({ length: Math.min(most, 6) }, (_, nth) =>
      parts.map((texts) => texts[Math.min(nth, texts.length - 1)]!).join(''),
    ),
  );
}

function unique(texts: string[]): string[] {
  return [...new Set(texts)].slice(0, 12);
}
