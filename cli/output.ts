import type { Writable } from 'node:stream';
import { jsonText } from './format.ts';

/** Where a command says what it has to say. */
export interface Output {
  isJson: boolean;
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

export function createOutput(deps: { stdout: Writable; stderr: Writable; isJson: boolean }): Output {
  const { stdout, stderr, isJson } = deps;
  const line = (text: string) => stdout.write(`${text}\n`);
  return {
    isJson,
    show: (data, human) => line(isJson ? jsonText(data, 2) : human),
    item: (data, human) => line(isJson ? jsonText(data) : human),
    raw: (bytes) => void stdout.write(bytes),
    note: (text) => void (isJson || stderr.write(`${text}\n`)),
    flush: () => Promise.all([stdout, stderr].map(flushed)).then(() => undefined),
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
