import { parseCsv } from '../../csv.ts';
import { UsageError } from '../../fault.ts';

export interface Contact {
  to: string;
  text: string;
}

/** The rows to send. All are checked before the first one is sent. UsageError says which line is wrong. */
export function parseContacts(csv: Uint8Array, file: string): Contact[] {
  const [header, ...rows] = parseCsv(textOf(csv, file));
  const names = header?.cells.map((name) => name.trim()) ?? [];
  const [toAt, textAt] = [names.indexOf('to'), names.indexOf('text')];
  if (toAt < 0 || textAt < 0) throw new UsageError(`${file} needs the columns to and text in its first line`);
  const lines = new Map<string, number>();
  return rows.map(({ line, cells }) => {
    const [to = '', text = ''] = [cells[toAt]?.trim(), cells[textAt]];
    if (to === '' || text.trim() === '')
      throw new UsageError(`${file}, line ${line}: no recipient or no text`);
    const before = lines.get(to);
    if (before !== undefined)
      throw new UsageError(`${file}, lines ${before} and ${line}: ${to} stands there twice`);
    lines.set(to, line);
    return { to, text };
  });
}

/** Spreadsheets also write older encodings; read as UTF-8, their letters would become replacement characters. */
function textOf(csv: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(csv);
  } catch {
    throw new UsageError(`${file} is not UTF-8: save it as CSV UTF-8`);
  }
}
