/** Plain text for people: no escape codes, neither ours nor those that came in with a message. */

/** What would move the cursor, ring or colour becomes visible; line ends too, so a record stays on its lines. */
export function printable(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value) && value.length === 0) return '-';
  const isPlainList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  const text = isPlainList
    ? value.join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (char) => {
    return NAMED[char] ?? escaped(char);
  });
}

/** JSON in which nothing moves the cursor either: of such characters JSON.stringify escapes the first 32 alone. */
export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    escaped,
  );
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One `name  value` line each. */
export function fields(record: object): string {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n');
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

/** A page of a list, with a word on what it leaves out. */
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
