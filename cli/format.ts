/** Plain text for people, without escape codes of ours or of a received message. */

/**
 * Makes characters visible that would move the cursor, ring, colour or hide text; line ends too, so that a record stays
 * on its lines.
 */
export function printable(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value) && value.length === 0) return '-';
  const isPlainList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  const text = isPlainList
    ? value.join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
  return visible(text.replace(/[\n\r\t]/g, (char) => NAMED[char] ?? char));
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** East Asian letters and emoji take two columns on a terminal, combining marks none. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const SEGMENTS = new Intl.Segmenter();

/** The beginning of a line that fits, with `…` where it was cut. */
export function fitLine(line: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const { segment, index } of SEGMENTS.segment(line)) {
    width += WIDE.test(segment) ? 2 : 1;
    if (width > columns) return `${line.slice(0, end)}…`;
    // There is room for the mark after it.
    if (width < columns) end = index + segment.length;
  }
  return line;
}

/** JSON in which no character moves the cursor or hides text; a parser still gets every original character. */
export function jsonText(value: unknown, indent = 0): string {
  return visible(JSON.stringify(value, null, indent));
}

/**
 * Control characters, and characters that are invisible or change the direction of text: direction marks and overrides,
 * joiners, zero-width blanks, tags, fillers, and variation selectors, which can hide whole texts in one sign. Those
 * that are part of an emoji stay: its style, and the joiner between two emoji.
 */
const HIDDEN =
  /(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f)\u200d(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Escapes hidden characters in a text by others, as JSON does, for a person at a terminal or for a model. Line ends and
 * tabs stay.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => (char === '\n' || char === '\t' ? char : escaped(char)));
}

/** Does the same for every text in some data, and for its field names. */
export function visibleData<T>(data: T): T {
  if (typeof data === 'string') return visible(data) as T;
  if (Array.isArray(data)) return data.map(visibleData) as T;
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [visible(name), visibleData(value)]),
  ) as T;
}

/** Escapes each UTF-16 unit; an astral character has two. */
function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');
}

/** One `name  value` line each. */
export function fields(record: object): string {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n');
}

/** The same without what is null. */
export function knownFields(record: object): string {
  return fields(Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)));
}

/** Columns under their names; `nothing` when there are no rows. */
export function table<T extends object>(
  rows: readonly T[],
  columns: readonly (keyof T & string)[],
  nothing: string,
): string {
  if (rows.length === 0) return nothing;
  const cells = rows.map((row) => columns.map((column) => printable(row[column])));
  const widths = columns.map((column, at) =>
    Math.max(column.length, ...cells.map((line) => line[at]?.length ?? 0)),
  );
  const lines = [columns.map((column) => column.toUpperCase()), ...cells];
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A page of a list, with a note on the rows that it leaves out. */
export function pageOf<T extends object>(
  page: { data: readonly T[]; total: number; page: number; limit: number },
  columns: readonly (keyof T & string)[],
  nothing: string,
): string {
  const shown = table(page.data, columns, nothing);
  const isAll = page.data.length >= page.total;
  return isAll ? shown : `${shown}\n(${page.data.length} of ${page.total}, page ${page.page})`;
}

const COLUMNS_MAX = 7;

/** Any answer of the service: a list as a table of its first plain columns, an object as its fields. */
export function answered(answer: unknown): string {
  if (answer === undefined) return 'done';
  if (typeof answer !== 'object' || answer === null) return String(answer);
  const page = answer as { data?: unknown; logs?: unknown; webhooks?: unknown };
  const rows = page.data ?? page.logs ?? page.webhooks;
  if (!Array.isArray(rows)) return fields(answer);
  const [first] = rows as Record<string, unknown>[];
  if (typeof first !== 'object' || first === null) return rows.length === 0 ? 'nothing' : printable(rows);
  const plain = Object.keys(first).filter((name) => typeof first[name] !== 'object' || first[name] === null);
  return table(rows as Record<string, unknown>[], plain.slice(0, COLUMNS_MAX), 'nothing');
}
