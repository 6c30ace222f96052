import type { Writable } from 'node:stream';
import { csvLine, csvOf, rowsOf } from './csv.ts';
import { jsonText, visible } from './format.ts';

/** The output of a command. */
export interface Output {
  /** True if a program reads the output: `--json`, `--jq` and `--csv`. */
  isJson: boolean;
  /** The width of the terminal; null without one. */
  columns: number | null;
  /** Prints the result: JSON with `--json`, else the text. Once for each command. */
  show(data: unknown, human: string): void;
  /** Prints one of many results as it arrives: a line of JSON, or the text. */
  item(data: unknown, human: string): void;
  /** Writes bytes unchanged. */
  raw(bytes: Uint8Array): void;
  /** Prints a note for a person, on stderr; nothing with `--json`. */
  note(text: string): void;
  /** Resolves when the system has taken all output. */
  flush(): Promise<void>;
}

/** The format of results; for people by default. */
export interface OutputFormat {
  isJson?: boolean;
  isCsv?: boolean;
  /** The filter of `--jq`, which makes the output of each result. */
  filter?: ((data: unknown) => Iterable<unknown>) | undefined;
}

type Streams = { stdout: Writable & { isTTY?: boolean; columns?: number }; stderr: Writable };

export function createOutput(deps: Streams & OutputFormat): Output {
  const { stdout, stderr, isCsv = false, filter } = deps;
  const isJson = (deps.isJson ?? false) || isCsv || filter !== undefined;
  const line = (text: string) => stdout.write(`${text}\n`);
  const csvItem = csvItems();
  /** Texts without quotes, like jq -r, but without characters that would move the cursor. */
  const filtered = (data: unknown) => {
    for (const value of filter?.(data) ?? [])
      line(typeof value === 'string' ? visible(value) : jsonText(value));
  };
  return {
    isJson,
    get columns() {
      return stdout.isTTY ? (stdout.columns ?? null) : null;
    },
    show(data, human) {
      if (filter) filtered(data);
      else if (isCsv) stdout.write(csvOf(data));
      else line(isJson ? jsonText(data, 2) : visible(human));
    },
    item(data, human) {
      if (filter) filtered(data);
      else if (isCsv) stdout.write(csvItem(data));
      else line(isJson ? jsonText(data) : visible(human));
    },
    raw: (bytes) => void stdout.write(bytes),
    note: (text) => void (isJson || stderr.write(`${visible(text)}\n`)),
    flush: () => Promise.all([stdout, stderr].map(flushed)).then(() => undefined),
  };
}

/** The first item names the columns of all. */
function csvItems(): (data: unknown) => string {
  let columns: string[] | null = null;
  return (data) => {
    const [row = {}] = rowsOf([data]);
    const head = columns === null ? csvLine(Object.keys(row)) : '';
    columns ??= Object.keys(row);
    return head + csvLine(columns.map((column) => row[column]));
  };
}

/** Node.js may write to a pipe in the background, and an exit would cut that off. */
function flushed(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}
