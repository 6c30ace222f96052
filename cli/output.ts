import type { Writable } from 'node:stream';
import { csvLine, csvOf, rowsOf } from './csv.ts';
import { jsonText, visible } from './format.ts';

/** Where a command says what it has to say. */
export interface Output {
  /** For a program: `--json`, `--jq` and `--csv`. */
  isJson: boolean;
  /** How wide a line may be on the terminal; null where there is none. */
  columns: number | null;
  /** The result: JSON with `--json`, else the text. Once for a command. */
  show(data: unknown, human: string): void;
  /** One of many results, as they come: a line of JSON, or the text. */
  item(data: unknown, human: string): void;
  /** Bytes as they are. */
  raw(bytes: Uint8Array): void;
  /** For the person in front of it, on stderr; not with `--json`. */
  note(text: string): void;
  /** Resolves when everything was handed to the system. */
  flush(): Promise<void>;
}

/** How results are written; without any of it, for people. */
export interface OutputFormat {
  isJson?: boolean;
  isCsv?: boolean;
  /** What of each result is printed, and as what: the filter of `--jq`. */
  filter?: ((data: unknown) => Iterable<unknown>) | undefined;
}

type Streams = { stdout: Writable & { isTTY?: boolean; columns?: number }; stderr: Writable };

export function createOutput(deps: Streams & OutputFormat): Output {
  const { stdout, stderr, isCsv = false, filter } = deps;
  const isJson = (deps.isJson ?? false) || isCsv || filter !== undefined;
  const line = (text: string) => stdout.write(`${text}\n`);
  const csvItem = csvItems();
  /** Texts as they are, as jq -r has them, but without what would move the cursor. */
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

/** A pipe may be written in the background, and an exit would cut it off. */
function flushed(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}
