import { appendFile, readFile, truncate } from 'node:fs/promises';
import { csvLine, parseCsv } from '../../csv.ts';
import { CommandError, UsageError } from '../../fault.ts';

export interface ReportRow {
  to: string;
  status: 'accepted' | 'refused';
  message_id: string;
  reason: string;
}

export interface Report {
  /** Whether an earlier run has sent to this recipient. */
  hasAccepted(to: string): boolean;
  add(row: ReportRow): Promise<void>;
}

const COLUMNS = ['to', 'status', 'message_id', 'reason'] as const;

/** Begins a report, or continues one that exists. UsageError for a file that is no report. */
export async function openReport(file: string): Promise<Report> {
  const text = await read(file);
  // A run that is killed while it writes leaves part of a line: the next run sends that row again, under its key.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const [header, ...rows] = whole === '' ? [] : parseCsv(whole);
  const isReport = header?.cells.join() === COLUMNS.join();
  if (text !== '' && !isReport)
    throw new UsageError(`${file} exists and is no report of bulk send: name another with --report`);
  if (whole !== text) await write(file, () => truncate(file, Buffer.byteLength(whole)));
  if (whole === '') await write(file, () => appendFile(file, csvLine(COLUMNS)));
  const accepted = new Set(rows.filter(({ cells }) => cells[1] === 'accepted').map(({ cells }) => cells[0]));
  return {
    // In the form that it has in the report, where formulas and hidden characters are written in another way.
    hasAccepted: (to) => accepted.has(parseCsv(csvLine([to]))[0]?.cells[0]),
    add: (row) => write(file, () => appendFile(file, csvLine(COLUMNS.map((column) => row[column])))),
  };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw unusable(file, cause);
  }
}

async function write(file: string, run: () => Promise<void>): Promise<void> {
  await run().catch((cause: unknown) => {
    throw unusable(file, cause);
  });
}

function unusable(file: string, cause: unknown): CommandError {
  return new CommandError(`${file}: cannot be used (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`);
}
