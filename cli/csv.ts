/**
 * The part of CSV that spreadsheets write: commas, quotes around what has a comma, quote or line break, and quotes
 * doubled.
 */
import { UsageError } from './fault.ts';
import { visible } from './format.ts';

export interface CsvRow {
  /** The line of the file that it begins in, from 1. */
  line: number;
  cells: string[];
}

/** Empty lines are no rows. Throws UsageError for an unclosed quote. */
export function parseCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let line = 1;
  let current: CsvRow = { line, cells: [] };
  // A cell with or without quotes, and the separator or line end after it. Spreadsheets put a byte order mark first.
  // The simpler `([^"]|"")*` would keep a backtracking state for each character: a quoted cell of megabytes overflows
  // the stack.
  const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|\r|$)/gy;
  for (cell.lastIndex = text.startsWith('\ufeff') ? 1 : 0; ; ) {
    const found = cell.exec(text);
    if (!found)
      throw new UsageError(
        `line ${line} of the CSV has a quote where none may be, or one that nothing closes`,
      );
    const [whole, quoted, plain = '', end] = found;
    current.cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    if (current.cells.some((each) => each !== '')) rows.push(current);
    if (end === '') return rows;
    current = { line, cells: [] };
  }
}

/**
 * One line with its end. Text that a spreadsheet would run as a formula, or that would move a terminal's cursor, is
 * made plain.
 */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const given = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const shown = visible(given);
  // Numbers and phone numbers begin with a sign, too.
  const isFormula = /^[=@\t]|^[+-](?![\d ().-]*$)/.test(shown);
  const text = isFormula ? `'${shown}` : shown;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A list, or one record as a list of one, under the names of all its fields. */
export function csvOf(answer: unknown): string {
  const rows = rowsOf(answer);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return '';
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))].map(csvLine).join('');
}

type Row = Readonly<Record<string, unknown>>;

/** The rows of an answer: its only list, which may be named `data`, `logs`, `labels`, ... */
export function rowsOf(answer: unknown): Row[] {
  const rowOf = (item: unknown): Row =>
    typeof item === 'object' && item !== null && !Array.isArray(item) ? (item as Row) : { value: item };
  if (Array.isArray(answer)) return answer.map(rowOf);
  if (typeof answer !== 'object' || answer === null) return answer === undefined ? [] : [rowOf(answer)];
  const entries = Object.entries(answer).filter(([name]) => !PAGING.has(name));
  const [only] = entries;
  return entries.length === 1 && Array.isArray(only?.[1]) ? only[1].map(rowOf) : [answer as Row];
}

const PAGING: ReadonlySet<string> = new Set([
  ...[
    'page',
    'limit',
    'total',
    'total_capped',
    'total_pages',
    'next_cursor',
    'next_before',
    'next_page_cursor',
    'has_more',
    'reset',
  ],
]);
